package test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
)

// A screen shows the rounds of xfn dev. On a terminal, each round replaces the previous
// round; in other output, rounds are appended. A screen is safe for concurrent use.
type screen struct {
	term   *terminal.Terminal
	stdout *os.File
	// live is true if the output is a terminal.
	live bool
	// page is the path of the HTML page about the steps. If it is "", the page is in
	// temporary, which is nil before the first page, and temporaryPage is its path.
	page, temporaryPage string
	temporary           *fsx.TempDir

	mu sync.Mutex
	// last is the round that is shown. whole is true if all lines of the round are
	// shown, even if they do not fit on the terminal.
	last  *dev.Round
	whole bool
	// status is the current work, and notice has messages below the round.
	status string
	notice []string
	// watches is the message that names the watched files. lasting is a message that is
	// shown until another message replaces it.
	watches, lasting string
	traces           []report.Trace
	// raw is true if the terminal is in raw mode, in which lines end with CR LF.
	raw bool
}

func newScreen(t *terminal.Terminal, page string) *screen {
	s := &screen{term: t, page: page}
	s.stdout, _ = t.Stdout.(*os.File)
	s.live = s.stdout != nil && term.IsTerminal(int(s.stdout.Fd())) && os.Getenv("TERM") != "dumb"
	return s
}

// awaitReader calls quit with EPIPE when the reader of stdout, such as head, has closed it. Without it,
// the loop would run until the next round writes. It returns at most a second after the end of ctx.
func (s *screen) awaitReader(ctx context.Context, quit context.CancelCauseFunc) {
	if s.stdout != nil && awaitClosed(ctx, s.stdout) {
		quit(syscall.EPIPE)
	}
}

// showEvent shows messages outside of rounds, such as the output of functions.
func (s *screen) showEvent(e progress.Event) {
	if e.Kind != progress.Note && e.Kind != progress.Warning {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Ignore an error of writing: the next round gets the same error and returns it.
	_ = s.showText(terminal.Printable(s.term.Redact(e.Text)))
}

func (s *screen) show(e dev.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Notice != "":
		s.lasting = terminal.Printable(s.term.Redact(e.Notice))
		if s.live {
			return s.draw()
		}
		return s.showText(s.lasting)
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
	for _, text := range s.notice {
		if err := s.showText(terminal.Printable(s.term.Redact(text))); err != nil {
			return err
		}
	}
	return s.append(r)
}

func (s *screen) append(r *dev.Round) error {
	sections, err := dev.Text{Color: s.term.Colour(s.term.Stdout), Spell: s.spell}.Sections(*r)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, section := range sections {
		b.WriteString(strings.Join(section, "\n") + "\n")
	}
	fmt.Fprintf(&b, "watching %s\n\n", watching(r))
	_, err = io.WriteString(s.term.Stdout, b.String())
	return err
}

// spell returns the flag for an option that a hint names. While the screen reads single
// keys, it returns "key a" for the option update, because key a writes golden files.
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

const legend = "r run again  a accept goldens  t trace  d all  ? help  q quit"

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

func (s *screen) tail() string {
	if s.status == "" {
		return ""
	}
	return "\n" + s.status + " …"
}

func (s *screen) update() error {
	if !s.live {
		return nil
	}
	return s.write(clearLine + s.status + " …")
}

func (s *screen) begin(watches string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = watches
	return s.showText(watches)
}

// showText shows a message: on a terminal below the round, elsewhere on stderr.
func (s *screen) showText(text string) error {
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

func (s *screen) write(text string) error {
	if s.raw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	_, err := io.WriteString(s.stdout, text)
	return err
}

// writePage writes an HTML page about the last render and the cases that failed after it.
func (s *screen) writePage(path string) error {
	traces := s.traces
	if s.last != nil && s.last.Tested != nil {
		for _, o := range s.last.Tested.Outcomes {
			if o.Trace != nil {
				traces = append(traces[:len(traces):len(traces)], *o.Trace)
			}
		}
	}
	return terminal.WriteFile(path, func(w io.Writer) error { return report.WritePage(w, "xfn dev", traces) })
}

const help = `r  render and test again
a  accept: write the golden files that differ from the output
t  write a page about the steps, and show its path
d  show all differences, or those that fit
q  quit, like Ctrl-C; functions are stopped`

const (
	interrupt = 3 // Ctrl-C in raw mode
	endOfText = 4
)

// keys reads single keys, if stdin and stdout are terminals, until restore is called.
// It sends commands to the loop, or calls quit.
func (s *screen) keys(ctx context.Context, quit func(), commands chan<- dev.Command) (restore func(), err error) {
	in := s.term.Stdin
	if !s.live || !s.term.Interactive() {
		return func() {}, nil
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("reading single keys: %w", err)
	}
	s.raw = true
	go func() { // A blocked read cannot be canceled, so the goroutine runs until the process ends.
		key := make([]byte, 1)
		for {
			if _, err := in.Read(key); err != nil {
				quit()
				return
			}
			s.key(ctx, key[0], quit, commands)
		}
	}()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.write("\n")
		_ = term.Restore(int(in.Fd()), state)
	}, nil
}

func (s *screen) key(ctx context.Context, key byte, quit func(), commands chan<- dev.Command) {
	send := func(c dev.Command) {
		select {
		case commands <- c:
		case <-ctx.Done():
		}
	}
	switch key {
	case 'q', interrupt, endOfText:
		quit()
	case 'r':
		send(dev.Again)
	case 'a':
		send(dev.Accept)
	case 't':
		s.trace()
	case 'd':
		s.toggle()
	case '?', 'h':
		s.setNotice(strings.TrimPrefix(s.watches+"\n"+help, "\n"))
	}
}

// toggle switches between all lines of the round and those that fit on the terminal.
func (s *screen) toggle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = !s.whole
	_ = s.draw()
}

// setNotice replaces the notice, which is shown below the test results.
func (s *screen) setNotice(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = strings.Split(text, "\n")
	_ = s.draw()
}

func (s *screen) trace() {
	s.mu.Lock()
	path, err := s.pagePath()
	if err == nil {
		err = s.writePage(path)
	}
	s.mu.Unlock()
	if err != nil {
		s.setNotice(terminal.Printable(s.term.Redact(err.Error())))
		return
	}
	s.setNotice("the trace is in " + path)
}

// pagePath returns the path of the page. Method close removes a temporary page.
func (s *screen) pagePath() (string, error) {
	if s.page != "" || s.temporary != nil {
		return cmp.Or(s.page, s.temporaryPage), nil
	}
	dir, path, err := fsx.MakeTempDirIn(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("creating a folder for the trace: %w", err)
	}
	s.temporary, s.temporaryPage = dir, filepath.Join(path, "trace.html")
	return s.temporaryPage, nil
}

func (s *screen) close() error {
	if s.temporary == nil {
		return nil
	}
	return s.temporary.Close()
}
