package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// streams returns a Terminal whose stderr is a file, and a function that reads it.
func streams(t *testing.T) (*terminal.Terminal, func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stderr")
	stderr := e2e.Must(os.Create(path))(t)
	stdin := e2e.Must(os.Open(os.DevNull))(t)
	t.Cleanup(func() {
		_ = stderr.Close()
		_ = stdin.Close()
	})
	return terminal.New(stdin, stderr, stderr), func() string {
		b := e2e.ReadFile(t, path)
		return b
	}
}

func TestProgress(t *testing.T) {
	events := []progress.Event{
		{Kind: progress.Step, Text: "compiling"},
		{Kind: progress.Bytes, Text: "pushing", Done: 1, Total: 2},
		{Kind: progress.Note, Text: "it is late"},
		{Kind: progress.Warning, Text: "it is too late"},
	}
	cases := map[string]struct {
		reason         string
		quiet, verbose bool
		want           string
	}{
		"Plain":   {"without a terminal there are neither steps nor progress bars", false, false, "note: it is late\nwarning: it is too late\n"},
		"Quiet":   {"quiet keeps warnings", true, false, "warning: it is too late\n"},
		"Verbose": {"verbose prints steps in a log, too", false, true, "compiling\nnote: it is late\nwarning: it is too late\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			term, stderr := streams(t)
			term.Quiet, term.Verbose = tc.quiet, tc.verbose
			for _, e := range events {
				term.Progress(e)
			}
			term.Finish()
			e2e.Equal(t, tc.reason, tc.want, stderr())
		})
	}
}

func TestError(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Plain": {"an error is one line after the name of the program", errors.New("no such file"), "xfn: error: no such file\n"},
		"Hint":  {"a hint has a line of its own", fmt.Errorf("reading: %w", hint.Wrap(errors.New("no such file"), "make it")), "xfn: error: reading: no such file\nhint: make it\n"},
		"Lines": {"further lines are indented below the first", errors.New("a\nb"), "xfn: error: a\n            b\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			term, stderr := streams(t)
			term.Error("xfn", tc.err)
			e2e.Equal(t, tc.reason, tc.want, stderr())
		})
	}
}

func TestInteractive(t *testing.T) {
	term, _ := streams(t)
	if term.Interactive() {
		t.Error("the null device is not a terminal")
	}
}

func TestCloseOutlivesItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed, stuck := errors.New("failed"), errors.New("stuck")
	err := terminal.Close(ctx, func(ctx context.Context) error {
		if ctx.Err() != nil {
			t.Error("cleaning up has no timeout")
		}
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("cleaning up may take forever")
		}
		return stuck
	}, failed)
	e2e.ErrorIs(t, "the error of the command is kept", err, failed)
	e2e.ErrorIs(t, "the error of cleaning up is added", err, stuck)
}

func TestCause(t *testing.T) {
	slow := errors.New("it took too long")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, slow)
	defer cancel()
	<-ctx.Done()
	failed := fmt.Errorf("the call was cut: %w", context.DeadlineExceeded)
	cases := map[string]struct {
		reason string
		ctx    context.Context
		err    error
		want   string
	}{
		"Done":  {"the cause of the context is added", ctx, failed, "the call was cut: context deadline exceeded; it took too long"},
		"Known": {"the cause is not added twice", ctx, fmt.Errorf("starting: %w", slow), "starting: it took too long"},
		"Alive": {"a context that is not done adds nothing", t.Context(), failed, "the call was cut: context deadline exceeded"},
		"Other": {"the cause is not added to an unrelated error", ctx, errors.New("no such file"), "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, terminal.Cause(tc.ctx, tc.err).Error())
		})
	}
	e2e.WantError(t, "success stays success after the context has ended", terminal.Cause(ctx, nil), "")
}

func TestForcedColor(t *testing.T) {
	cases := map[string]struct {
		reason, force, no string
		want              bool
	}{
		"File":   {"a file has no colors", "", "", false},
		"Forced": {"FORCE_COLOR colors a file", "1", "", true},
		"Both":   {"NO_COLOR has priority", "1", "1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FORCE_COLOR", tc.force)
			t.Setenv("NO_COLOR", tc.no)
			term, read := streams(t)
			term.Fault(errors.New("no such file"))
			other := e2e.Must(os.Create(filepath.Join(t.TempDir(), "trace")))(t)
			defer other.Close()
			if term.Colour(term.Stdout) != tc.want || strings.Contains(read(), "\x1b[") != tc.want || term.Colour(other) {
				t.Errorf("%s: got %q", tc.reason, read())
			}
		})
	}
}
