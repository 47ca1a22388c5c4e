package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// RunScript runs the init.sh of res in the current directory. Its arguments are the
// name and the directory of the package. When ctx is done, RunScript kills the
// script and all processes that it started. Files that the script has written stay.
//
// If stdin is a terminal, the script runs in the terminal's foreground process group,
// so that it can read from the terminal. In that case, RunScript kills only the script;
// its child processes get the interrupt of the terminal.
func RunScript(ctx context.Context, res Result, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, res.Script, res.Name, res.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	// Do not wait for a stdin that never ends, or for background processes.
	cmd.WaitDelay = 2 * time.Second
	if !onTerminal(stdin) {
		proc.KillGroup(cmd)
	}
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("running init script %q: %w", res.Script, context.Cause(ctx))
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	}
	return hint.Wrap(fmt.Errorf("running init script %q: %w", res.Script, err),
		"the files stay: correct the script and run it with the package's name and directory")
}

// onTerminal reports whether stdin is a terminal. A terminal stops processes
// that read from it in the background.
func onTerminal(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// An Answer is the answer of a user to the question whether to run a script.
type Answer int

const (
	// No means do not run the script.
	No Answer = iota
	// Yes means run the script.
	Yes
	// View means show the script and ask again.
	View
)

// ReadAnswer reads an answer, which is one line of r. It reads no byte after the
// line, since the script may read them. In upper or lower case, y and yes are Yes,
// and v and view are View. Any other word is No. ReadAnswer returns an error for an
// empty line, several words, a line of more than 64 bytes, and the end of r.
func ReadAnswer(r io.Reader) (Answer, error) {
	line, err := readLine(r)
	if err != nil {
		return No, fmt.Errorf("reading the answer: %w", err)
	}
	words := strings.Fields(line)
	if len(words) != 1 {
		return No, hint.Wrap(fmt.Errorf("%q is not an answer", line), "answer y, n or v")
	}
	switch strings.ToLower(words[0]) {
	case "y", "yes":
		return Yes, nil
	case "v", "view":
		return View, nil
	}
	return No, nil
}

func readLine(r io.Reader) (string, error) {
	const most = 64
	var line []byte
	for len(line) <= most {
		var b [1]byte
		n, err := r.Read(b[:])
		if n == 1 && b[0] == '\n' {
			return string(line), nil
		}
		// A reader may return its last byte together with io.EOF.
		line = append(line, b[:n]...)
		if errors.Is(err, io.EOF) && len(line) > 0 {
			break
		}
		if err != nil {
			return "", err
		}
	}
	if len(line) > most {
		return "", fmt.Errorf("it is longer than %d bytes", most)
	}
	return string(line), nil
}
