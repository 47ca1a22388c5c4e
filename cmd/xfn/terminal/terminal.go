package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A Terminal is a command's standard streams. It is safe for concurrent use.
type Terminal struct {
	Stdin  *os.File
	Stdout io.Writer
	// Quiet leaves out notes and progress, Verbose adds steps.
	Quiet, Verbose bool
	// Listen, if not nil, gets all progress in place of whoever looks at stderr.
	Listen progress.Func
	// Spell names the options of hints by their flags.
	Spell hint.Speller

	mu       sync.Mutex
	stderr   io.Writer
	live     bool
	colour   bool
	coloured bool
	bar      *progressbar.ProgressBar
	of       string
	since    time.Time

	// actions says that the program runs in GitHub Actions, which has checked
	// the code out into workspace.
	actions   bool
	workspace string
}

// New returns the Terminal of the three streams. Colour and progress bars are
// used if stderr is a terminal; colour not if NO_COLOR is set (no-color.org).
func New(stdin, stdout, stderr *os.File) *Terminal {
	coloured := os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	live := term.IsTerminal(int(stderr.Fd())) && os.Getenv("TERM") != "dumb"
	return &Terminal{
		Stdin: stdin, Stdout: stdout,
		Spell:  func(option string) string { return "--" + option },
		stderr: stderr, live: live, colour: live && coloured, coloured: coloured,
		actions: os.Getenv("GITHUB_ACTIONS") == "true", workspace: os.Getenv("GITHUB_WORKSPACE"),
	}
}

// Interactive reports whether a person can answer questions on stdin.
func (t *Terminal) Interactive() bool { return term.IsTerminal(int(t.Stdin.Fd())) }

// Colour reports whether f is a terminal that is to have colour.
func (t *Terminal) Colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && t.coloured && term.IsTerminal(int(f.Fd()))
}

// Stderr returns what child processes may write to.
func (t *Terminal) Stderr() io.Writer { return t.stderr }

// Progress shows an event. It is a progress.Func.
func (t *Terminal) Progress(e progress.Event) {
	if t.Listen != nil {
		t.Listen(e)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case progress.Warning:
		t.line("warning: ", yellow, e.Text)
	case progress.Note:
		if !t.Quiet {
			t.line("note: ", none, e.Text)
		}
	case progress.Step:
		if t.Verbose || t.live && !t.Quiet {
			t.line("", none, e.Text)
		}
	case progress.Bytes:
		if t.live && !t.Quiet {
			t.bytes(e)
		}
	}
}

// Detail shows an event if the terminal is verbose. It is a progress.Func.
func (t *Terminal) Detail(e progress.Event) {
	if t.Verbose {
		t.Progress(e)
	}
}

// Warn prints something that the user should probably change.
func (t *Terminal) Warn(text string) {
	t.Progress(progress.Event{Kind: progress.Warning, Text: text})
}

// Note prints something that the user should know.
func (t *Terminal) Note(text string) {
	t.Progress(progress.Event{Kind: progress.Note, Text: text})
}

// Fault prints an error that does not end the command.
func (t *Terminal) Fault(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line("error: ", red, err.Error())
	t.hint(err)
}

// Finish removes what is left of a progress bar.
func (t *Terminal) Finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

// Error prints err as one sentence, after the program's name, with its hint on
// a line below.
func (t *Terminal) Error(program string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	indent := "\n" + strings.Repeat(" ", len(program)+len(": error: "))
	t.line(program+": error: ", red, strings.ReplaceAll(err.Error(), "\n", indent))
	t.hint(err)
}

func (t *Terminal) hint(err error) {
	if h := hint.Of(err); h != "" {
		t.line("hint: ", none, h.Spell(t.Spell))
	}
}

// A UsageError says that a command was used wrongly, where the grammar of the
// command line cannot tell.
type UsageError struct{ Err error }

// Error returns the cause's text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

type colour string

const (
	none   colour = ""
	red    colour = "\x1b[31m"
	yellow colour = "\x1b[33m"
	reset         = "\x1b[0m"
)

func (t *Terminal) line(label string, c colour, text string) {
	t.clear()
	if t.colour && c != none {
		label = string(c) + label + reset
	}
	text = Printable(text)
	if t.actions {
		text = commandLine().ReplaceAllString(text, "$1: :")
	}
	fmt.Fprintf(t.stderr, "%s%s\n", label, text)
}

// commandLine matches what GitHub Actions takes for a workflow command, which a
// stranger's text must not give: "::" at the start of a line, blanks before it
// or not.
var commandLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\s*)::`) })

// Printable is a stranger's text without what could change how a terminal shows
// other text.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// bytes moves the bar of e's text. Only one bar is shown at a time: the one
// that moved last.
// Work that is over at once gets none.
func (t *Terminal) bytes(e progress.Event) {
	if t.of != e.Text {
		t.clear()
		t.of, t.since = e.Text, time.Now()
	}
	if e.Total > 0 && e.Done >= e.Total {
		t.clear()
		return
	}
	if t.bar == nil && time.Since(t.since) < patience {
		return
	}
	total := e.Total
	if total == 0 {
		total = -1
	}
	if t.bar == nil {
		t.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(t.stderr),
			progressbar.OptionSetDescription(e.Text),
			progressbar.OptionShowBytes(true),
			progressbar.OptionShowTotalBytes(true),
			progressbar.OptionShowCount(),
			progressbar.OptionUseIECUnits(true),
			progressbar.OptionSetWidth(16),
			progressbar.OptionThrottle(65*time.Millisecond),
		)
	}
	t.bar.ChangeMax64(total)
	// The bar's only error is that of writing it, which nobody can be told.
	_ = t.bar.Set64(e.Done)
}

// patience is how long work goes on before it gets a bar.
const patience = 300 * time.Millisecond

func (t *Terminal) clear() {
	if t.bar != nil {
		_ = t.bar.Clear()
	}
	t.bar, t.of = nil, ""
}
