package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/docs"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestHelpIsNotPrinted checks that help that cannot be printed is not a wrong command line.
func TestHelpIsNotPrinted(t *testing.T) {
	closed := e2e.Must(os.Create(filepath.Join(t.TempDir(), "out")))(t)
	e2e.NoError(t, closed.Close())
	for _, args := range [][]string{{"xfn", "--help"}, {"xfn", "render", "--help-all"}} {
		if code := run(t.Context(), args, nil, closed, closed); code != docs.Failed {
			t.Errorf("%s: got exit code %d", args, code)
		}
	}
}

func TestReportOfClosedPipes(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		prints bool
	}{
		"Output":     {"a closed output is not reported", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, false},
		"Connection": {"a closed connection is reported", &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}, true},
		"Other":      {"another error is reported", errors.New("other"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stderr := e2e.Must(os.Create(filepath.Join(t.TempDir(), "stderr")))(t)
			defer stderr.Close()
			e2e.Equal(t, tc.reason, 1, report(terminal.New(os.Stdin, stderr, stderr), "xfn", fmt.Errorf("doing it: %w", tc.err)))
			e2e.Equal(t, tc.reason, tc.prints, e2e.Must(stderr.Stat())(t).Size() > 0)
		})
	}
}

func TestPathHint(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		hints  bool
	}{
		"File":   {"a missing file is a wrong path", &fs.PathError{Op: "open", Path: "xr.yaml", Err: syscall.ENOENT}, true},
		"Socket": {"a function that does not listen has no socket, whose path the user did not choose", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ENOENT)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.hints, pathHint(fmt.Errorf("doing it: %w", tc.err)) != "")
		})
	}
}
