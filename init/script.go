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

// RunScript runs the init.sh of res with the package's name and directory as
// its arguments, in the current directory. It is killed when ctx ends, with
// all that it started. What it has written stays, however it ends.
//
// Where stdin is a terminal, the script stays in the terminal's foreground, or
// it could not ask its user anything; what it started then gets the terminal's
// own interrupt, and only the script is killed.
func RunScript(ctx context.Context, res Result, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, res.Script, res.Name, res.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	// For a stdin that is no file and never ends, or a stdout that outlives
	// the script in something that it left running.
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
		"the files stay: put the script right and run it with the package's name and directory")
}

// onTerminal reports whether stdin is a terminal, which stops a process group
// that reads from it without being in its foreground.
func onTerminal(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// An Answer is what a user says when asked whether to run a script.
type Answer int

const (
	// No is not to run it.
	No Answer = iota
	// Yes is to run it.
	Yes
	// View is to show it and ask again.
	View
)

// ReadAnswer reads one line of r, and no byte more: what follows is for the
// script. y and yes are Yes, v and view are View, in any case of letters, and
// every other word is No. An empty line, several words, a line of more than 64
// bytes and the end of r are no answer but an error.
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
		// A reader may give its last byte and the error of its end at once.
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
