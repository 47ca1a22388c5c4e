package e2e

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A Child is this test binary in another process.
type Child struct {
	cmd *exec.Cmd
	in  io.Closer
}

// Start runs this test binary with additional environment variables, which tell its
// TestMain what to do, and returns the first line of its output. Its standard input
// stays open until Kill. The process is killed at the end of the test.
func Start(t testing.TB, env ...string) (c *Child, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	in := Must(cmd.StdinPipe())(t)
	out, err := cmd.StdoutPipe()
	NoError(t, err)
	NoError(t, cmd.Start())
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("the child printed %q: %v", line, err)
	}
	return &Child{cmd, in}, strings.TrimSuffix(line, "\n")
}

// Kill kills the process and waits for it. It fails the test if the process has already
// exited.
func (c *Child) Kill(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.in.Close()
	if err := c.cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("the child was not killed: %v", err)
	}
}
