package e2e_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A pseudo is a program in a terminal of 80 columns.
type pseudo struct {
	*transcript
	t      *testing.T
	dir    string
	keys   *os.File
	screen *os.File
	cmd    *exec.Cmd
	before unix.Termios // the modes of the terminal before the process started
}

// openTerminal returns both sides of a new pseudo-terminal (pty(7)).
func openTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys = e2e.Open(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	e2e.NoError(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n := e2e.Must(unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN))(t)
	screen = e2e.Open(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	e2e.NoError(t, unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return keys, screen
}

// inTerminal starts `xfn dev ARGS` in a folder with a Composition of a builtin and a suite.
func inTerminal(t *testing.T, args ...string) *pseudo {
	t.Helper()
	p := &pseudo{t: t, dir: t.TempDir()}
	for name, text := range typed {
		p.put(name, text)
	}
	p.start(append([]string{"dev", "xr.yaml", "composition.yaml", "--suite", "."}, args...)...)
	return p
}

// start starts `xfn ARGS` in a new terminal.
func (p *pseudo) start(args ...string) {
	p.t.Helper()
	p.keys, p.screen = openTerminal(p.t)
	p.transcript = transcribe(p.keys)
	p.before = p.modes()
	p.cmd = e2e.Command(p.t, args...)
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), "TERM=xterm", "TMPDIR="+p.dir, "NO_COLOR=")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.screen, p.screen, p.screen
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pseudo) put(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// awaitOutput waits for texts in the output, one after another.
func (p *pseudo) awaitOutput(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if _, err := p.await(regexp.MustCompile(regexp.QuoteMeta(text))); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *pseudo) types(keys string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pseudo) modes() unix.Termios {
	p.t.Helper()
	modes, err := unix.IoctlGetTermios(int(p.screen.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *modes
}

// awaitExit waits for the end of the process, which must succeed.
func (p *pseudo) awaitExit() {
	p.t.Helper()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process ended with %v", err)
	}
}

var typed = map[string]string{
	"xr.yaml": "apiVersion: gold.test/v1\nkind: XWidget\nmetadata:\n  name: alpha\nspec:\n  size: 3\n",
	"composition.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: widgets
spec:
  compositeTypeRef:
    apiVersion: gold.test/v1
    kind: XWidget
  mode: Pipeline
  pipeline:
  - step: make
    functionRef:
      name: function-dummy
    input:
      apiVersion: dummy.fn.crossplane.io/v1beta1
      kind: Response
      response:
        desired:
          resources:
            widget:
              resource:
                apiVersion: gold.test/v1
                kind: Widget
                spec:
                  colour: red
`,
	"suite.yaml": `apiVersion: xfn.dev/v1alpha1
kind: TestSuite
metadata:
  name: widgets
cases:
- name: golden
  xr: xr.yaml
  composition: composition.yaml
  expect:
    golden: golden.yaml
`,
}

// TestDevKeys: in a terminal, the output of each round replaces the output of the
// previous round, and keys control xfn dev.
func TestDevKeys(t *testing.T) {
	t.Parallel()
	p := inTerminal(t)
	p.awaitOutput("\x1b[H\x1b[2J", "round 1: start", "+ Widget", "--- FAIL: widgets/golden", "hint: write it with key a", "? help  q quit")
	p.put("composition.yaml", strings.Replace(typed["composition.yaml"], "colour: red", "colour: blue", 1))
	p.awaitOutput("\x1b[H\x1b[2J", "composition.yaml changed", `spec.colour: "red" → "blue"`, "q quit")
	p.types("r")
	p.awaitOutput("run again", "nothing changed since the last render", "q quit")
	p.types("a")
	p.awaitOutput("accepting goldens", "updated golden.yaml", "ok (1 case", "q quit")
	e2e.Has(t, "the golden file has the new output", e2e.ReadFile(t, p.dir, "golden.yaml"), "colour: blue")
	p.types("t")
	p.awaitOutput("the trace is in")
	path := e2e.Must(p.await(regexp.MustCompile(`\S+trace\.html`)))(t)
	if page, err := os.ReadFile(path); err != nil || !strings.Contains(string(page), "function-dummy") {
		t.Errorf("the page %s has no trace: %v", path, err)
	}
	p.types("?")
	p.awaitOutput("accept: write the golden files", "q quit")
	p.types("x") // No command has this key.
	p.types("q")
	p.awaitExit()
	e2e.ErrorIs(t, "the folder of the page is left", e2e.Err(os.Stat(filepath.Dir(path))), fs.ErrNotExist)
	e2e.Equal(t, "the modes of the terminal after the end", p.before, p.modes())
}

// TestDevShowsAll: xfn dev shortens long differences to fit the terminal, and the key
// d shows them whole.
func TestDevShowsAll(t *testing.T) {
	t.Parallel()
	p := inTerminal(t, "--trace-html", "page.html")
	p.awaitOutput("round 1", "q quit")
	var fields strings.Builder
	for n := range 60 {
		fmt.Fprintf(&fields, "                  field%d: %d\n", n, n)
	}
	p.put("composition.yaml", typed["composition.yaml"]+fields.String())
	p.awaitOutput("composition.yaml changed", "+ spec.field0: 0", "more lines: d shows all", "q quit")
	p.types("d")
	p.awaitOutput("+ spec.field0: 0", "+ spec.field59: 59", "q quit")
	p.types("d")
	p.awaitOutput("d shows all", "q quit")
	e2e.NoError(t, e2e.Err(os.Stat(filepath.Join(p.dir, "page.html"))))
	p.types("\x03") // Ctrl-C
	p.awaitExit()
}

// TestDevIsTerminated: a signal ends the process and restores the terminal, as
// the key q does.
func TestDevIsTerminated(t *testing.T) {
	t.Parallel()
	p := inTerminal(t)
	p.awaitOutput("round 1", "q quit")
	e2e.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.awaitExit()
	e2e.Equal(t, "the modes of the terminal after the end", p.before, p.modes())
}

func TestHelpHasTheWidthOfTheTerminal(t *testing.T) {
	for _, width := range []int{60, 100} {
		keys, screen := openTerminal(t)
		e2e.NoError(t, unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)}))
		out := transcribe(keys)
		cmd := e2e.Command(t, "cache", "prune", "--help")
		cmd.Stdout = screen
		e2e.NoError(t, cmd.Run())
		text := e2e.Must(out.await(regexp.MustCompile(`(?s)Usage: .*--dry-run.*\n`)))(t)
		longest := 0
		for line := range strings.Lines(text) {
			longest = max(longest, len(strings.TrimRight(line, "\r\n")))
		}
		if longest > width || longest < width-20 {
			t.Errorf("the longest line has %d columns in a terminal of %d columns", longest, width)
		}
	}
}
