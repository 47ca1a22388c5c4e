package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
)

// A Terminal is a command's standard streams. It is safe for concurrent use.
type Terminal struct {
	Stdin  *os.File
	Stdout io.Writer
	// Quiet leaves out notes and progress. Verbose prints a line for each step.
	Quiet, Verbose bool
	// Listen, if not nil, receives all progress instead of stderr.
	Listen progress.Func
	// Columns is the width of stdout, or 0 if stdout is not a terminal.
	Columns int
	// CrossplaneConfig is the path of the crossplane CLI's configuration, or "" for the usual one.
	CrossplaneConfig string
	// Spell returns the flag for an option that a hint names.
	Spell hint.Speller

	redactor func(text string) string

	mu       sync.Mutex
	stderr   io.Writer
	live     bool
	coloured bool
	forced   bool // stdout and stderr are colored although they may be no terminals
	bar      *progressbar.ProgressBar
	of       string
	since    time.Time

	// actions is true in GitHub Actions. workspace is the directory of the checkout there or in
	// GitLab CI.
	actions   bool
	workspace string
}

// New returns a Terminal. It shows colors and progress bars if stderr is a terminal,
// but no colors if NO_COLOR is set (no-color.org). With FORCE_COLOR, colors do not need a
// terminal (force-color.org). NO_COLOR has priority.
func New(stdin, stdout, stderr *os.File) *Terminal {
	coloured := os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	live := term.IsTerminal(int(stderr.Fd())) && os.Getenv("TERM") != "dumb"
	return &Terminal{
		Stdin: stdin, Stdout: stdout, Columns: columns(stdout),
		Spell:  func(option string) string { return "--" + option },
		stderr: stderr, live: live, coloured: coloured,
		forced:    os.Getenv("FORCE_COLOR") != "" && os.Getenv("NO_COLOR") == "",
		actions:   os.Getenv("GITHUB_ACTIONS") == "true",
		workspace: cmp.Or(os.Getenv("GITHUB_WORKSPACE"), os.Getenv("CI_PROJECT_DIR")),
	}
}

// columns returns the width of a terminal, or 0 for other files. It returns 80 for an
// unknown width, and at least 40.
func columns(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil || n == 0 {
		n = 80
	}
	return max(n, 40)
}

// RedactValues sets values, such as arguments. Redact then also redacts the credentials in these
// values, in whatever form they occur.
func (t *Terminal) RedactValues(values []string) { t.redactor = oci.Redactor(values) }

// Redact returns a message without the credentials of references and URLs.
func (t *Terminal) Redact(text string) string {
	if t.redactor == nil {
		return oci.Redact(text)
	}
	return t.redactor(text)
}

// Interactive reports whether stdin is a terminal.
func (t *Terminal) Interactive() bool { return term.IsTerminal(int(t.Stdin.Fd())) }

// Colour reports whether w is a terminal that shows colors, or a stream with forced colors.
func (t *Terminal) Colour(w io.Writer) bool {
	if t.forced && (w == t.Stdout || w == t.stderr) {
		return true
	}
	f, ok := w.(*os.File)
	return ok && t.coloured && term.IsTerminal(int(f.Fd()))
}

// Style returns the style of texts for w. Without a terminal, it has no width. Colour
// decides about colors.
func (t *Terminal) Style(w io.Writer) report.Style {
	s := report.Style{Color: t.Colour(w)}
	if f, ok := w.(*os.File); ok {
		s.Columns = columns(f)
	}
	return s
}

// Stderr returns the stream for the output of child processes.
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
		t.line("warning: ", report.Yellow, e.Text)
	case progress.Note:
		if !t.Quiet {
			t.line("note: ", "", e.Text)
		}
	case progress.Step:
		if t.Verbose || t.live && !t.Quiet {
			t.line("", "", e.Text)
		}
	case progress.Bytes:
		if t.live && !t.Quiet {
			t.bytes(e)
		}
	}
}

// Detail shows an event, of Kind Step only with --verbose. It is a progress.Func.
func (t *Terminal) Detail(e progress.Event) {
	if t.Verbose || e.Kind != progress.Step {
		t.Progress(e)
	}
}

// Warn prints a warning: the user should probably change something.
func (t *Terminal) Warn(text string) {
	t.Progress(progress.Event{Kind: progress.Warning, Text: text})
}

// WarnOnce returns a func that prints each warning once. It is safe for concurrent use.
func (t *Terminal) WarnOnce() func(text string) { return progress.Func(t.Progress).Once().Warn }

// Note prints a note.
func (t *Terminal) Note(text string) {
	t.Progress(progress.Event{Kind: progress.Note, Text: text})
}

// Fault prints an error that does not end the command.
func (t *Terminal) Fault(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line("error: ", report.Red, err.Error())
	t.hint(err)
}

// IsStdout reports whether path is the pipe or file of standard output.
func (t *Terminal) IsStdout(path string) bool {
	out, ok := t.Stdout.(*os.File)
	if !ok {
		return false
	}
	to, err := out.Stat()
	at, pathErr := os.Stat(path)
	return err == nil && pathErr == nil && to.Mode()&os.ModeCharDevice == 0 && os.SameFile(to, at)
}

// Finish removes the progress bar.
func (t *Terminal) Finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

// Error prints err after the name of the program, and its hint on the next line.
func (t *Terminal) Error(program string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	indent := "\n" + strings.Repeat(" ", len(program)+len(": error: "))
	t.line(program+": error: ", report.Red, strings.ReplaceAll(err.Error(), "\n", indent))
	t.hint(err)
}

func (t *Terminal) hint(err error) {
	if h := hint.Of(err); h != "" {
		t.line("hint: ", "", h.Spell(t.Spell))
	}
}

func (t *Terminal) line(label string, c report.Color, text string) {
	t.clear()
	if (t.forced || t.live && t.coloured) && label != "" {
		label = c.Paint(label)
	}
	text = Printable(t.Redact(text))
	if t.actions {
		text = commandLine().ReplaceAllString(text, "$1: :")
	}
	fmt.Fprintf(t.stderr, "%s%s\n", label, text)
}

// commandLine matches a workflow command of GitHub Actions, "::" at the start of a
// line, which external texts must not contain.
var commandLine = proc.Regexp(`(?m)^(\s*)::`)

// Printable returns an external text without control characters, which could
// change how a terminal shows other text, and without credentials.
func Printable(text string) string {
	return oci.Redact(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text))
}

// bytes updates the progress bar of e.Text. Only the last updated bar is shown. In the
// first 300 ms of a transfer, no bar is shown.
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
	total := cmp.Or(e.Total, -1)
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
	_ = t.bar.Set64(e.Done) // Set64 fails only if stderr cannot be written.
}

// patience is how long a transfer runs before its progress bar is shown.
const patience = 300 * time.Millisecond

func (t *Terminal) clear() {
	if t.bar != nil {
		_ = t.bar.Clear()
	}
	t.bar, t.of = nil, ""
}
