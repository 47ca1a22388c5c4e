package test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
)

// A screen shows rounds: each in place of the one before, or, where the output is
// no terminal, one after another. It is safe for concurrent use.
type screen struct {
	term   *terminal.Terminal
	stdout *os.File
	// live says that the output is a terminal.
	live bool
	// page is where traces go, temporary where they do if page is "".
	page, temporary string

	mu sync.Mutex
	// last is the round that is shown, whole says that all of it is.
	last  *dev.Round
	whole bool
	// status is what happens now, below the round; notice is what was told
	// beside it.
	status string
	notice []string
	// watches is what the folder was found to hold, and lasting what is true of
	// all rounds.
	watches, lasting string
	// traces are those of the last render.
	traces []report.Trace
	// raw says that lines need to be ended as terminals want it.
	raw bool
}

func newScreen(t *terminal.Terminal, page string) *screen {
	s := &screen{term: t, page: page}
	s.stdout, _ = t.Stdout.(*os.File)
	s.live = s.stdout != nil && term.IsTerminal(int(s.stdout.Fd())) && os.Getenv("TERM") != "dumb"
	return s
}

// hear takes what no round tells, as what functions write.
func (s *screen) hear(e progress.Event) {
	if e.Kind != progress.Note && e.Kind != progress.Warning {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Nobody waits for the error: that of showing the round is the same.
	_ = s.tell(terminal.Printable(e.Text))
}

// show takes events of the loop.
func (s *screen) show(e dev.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Notice != "":
		s.lasting = terminal.Printable(e.Notice)
		if s.live {
			return s.draw()
		}
		return s.tell(s.lasting)
	case e.Began != nil:
		s.status = "working"
		if len(e.Began.Changed) > 0 {
			s.status = terminal.Printable(filepath.Base(e.Began.Changed[0])) + " changed"
		}
		return s.update()
	case e.Step != "":
		s.status = terminal.Printable(e.Step)
		return s.update()
	default:
		return s.round(e.Round)
	}
}

func (s *screen) round(r *dev.Round) error {
	s.last, s.status, s.whole, s.notice = r, "", false, nil
	if r.Rendered != nil {
		s.traces = r.Rendered.Traces
	}
	if s.page != "" && r.Rendered != nil {
		if err := s.writePage(s.page); err != nil {
			s.notice = append(s.notice, err.Error())
		}
	}
	if s.live {
		return s.draw()
	}
	return s.append(r)
}

// append adds the lines of a round to those before.
func (s *screen) append(r *dev.Round) error {
	sections, err := dev.Text{Color: s.term.Colour(s.term.Stdout), Spell: s.spell}.Sections(*r)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, section := range sections {
		for _, line := range section {
			b.WriteString(line + "\n")
		}
	}
	fmt.Fprintf(&b, "watching %s\n\n", watching(r))
	_, err = s.term.Stdout.Write(b.Bytes())
	return err
}

// spell names the key that accepts golden files, in place of a flag that xfn dev
// does not have.
func (s *screen) spell(option string) string {
	if s.raw && option == "update" {
		return "key a"
	}
	return s.term.Spell(option)
}

func watching(r *dev.Round) string {
	return terminal.Count(r.Files, "file") + " in " + terminal.Count(r.Folders, "folder")
}

const (
	clearAll  = "\x1b[H\x1b[2J"
	clearLine = "\r\x1b[K"
)

// legend are the keys, in one line.
const legend = "r run again  a accept goldens  t trace  d all  ? help  q quit"

// draw fills the terminal with the last round.
func (s *screen) draw() error {
	if s.last == nil {
		return s.write(clearAll + strings.Join(append(s.notice, s.lasting), "\n") + s.tail())
	}
	columns, rows, err := term.GetSize(int(s.stdout.Fd()))
	if err != nil || columns < 1 {
		columns, rows = 80, 24
	}
	text := dev.Text{Color: s.term.Colour(s.stdout), Whole: s.whole, Last: true, Spell: s.spell, Columns: columns}
	sections, err := text.Sections(*s.last)
	if err != nil {
		return err
	}
	footer := append([]string{"", "watching " + watching(s.last)}, s.notice...)
	if s.lasting != "" {
		footer = append(footer, s.lasting)
	}
	footer = dev.Wrap(append(footer, legend), columns)
	room := rows - len(footer)
	if s.whole {
		room = 1 << 30
	}
	lines := dev.Fit(sections, room, columns, "d shows all")
	return s.write(clearAll + strings.Join(append(lines, footer...), "\n") + s.tail())
}

// tail is the line of what happens now, behind all others.
func (s *screen) tail() string {
	if s.status == "" {
		return ""
	}
	return "\n" + s.status + " …"
}

// update shows what happens now.
func (s *screen) update() error {
	if !s.live {
		return nil
	}
	return s.write(clearLine + s.status + " …")
}

// begin says what was found to watch.
func (s *screen) begin(watches string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches = watches; watches == "" {
		return nil
	}
	return s.tell(watches)
}

// tell says something beside the round.
func (s *screen) tell(text string) error {
	const most = 5
	if !s.live {
		_, err := fmt.Fprintln(s.term.Stderr(), text)
		return err
	}
	s.notice = append(s.notice, text)
	if n := len(s.notice) - most; n > 0 {
		s.notice = s.notice[n:]
	}
	return s.draw()
}

// write writes to the terminal.
func (s *screen) write(text string) error {
	if s.raw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	_, err := io.WriteString(s.stdout, text)
	return err
}

// writePage writes the trace of the last render, and of cases that failed after
// it.
func (s *screen) writePage(path string) error {
	traces := s.traces
	if s.last != nil && s.last.Tested != nil {
		for _, o := range s.last.Tested.Outcomes {
			if o.Trace != nil {
				traces = append(traces[:len(traces):len(traces)], *o.Trace)
			}
		}
	}
	err := fsx.Write(path, 0o644, func(w io.Writer) error { return report.WritePage(w, "xfn dev", traces) })
	if err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}
