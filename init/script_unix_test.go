//go:build unix

package scaffold_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestRunScript(t *testing.T) {
	cases := map[string]struct {
		reason, script string
		mode           os.FileMode
		stdout, err    string
	}{
		"Fails":         {"the error has the exit code of the script", "#!/bin/sh\nexit 7\n", 0o755, "", "exit status 7"},
		"Killed":        {"the error has the signal that ended the script", "#!/bin/sh\nkill -9 $$\n", 0o755, "", "signal: killed"},
		"NotExecutable": {"a script that is not executable is an error", "#!/bin/sh\n", 0o644, "", "permission denied"},
		"NoStdin":       {"the script may ignore its input", "#!/bin/sh\necho done\n", 0o755, "done\n", ""},
		"Stdin":         {"the script may read its input", "#!/bin/sh\ncat\n", 0o755, "input", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, filepath.Join(t.TempDir(), "init.sh"), tc.script, tc.mode)
			var stdout bytes.Buffer
			err := scaffold.RunScript(t.Context(), scaffold.Result{Name: "n", Dir: filepath.Dir(path), Script: path}, strings.NewReader("input"), &stdout, io.Discard)
			e2e.WantError(t, tc.reason, err, tc.err)
			e2e.Equal(t, tc.reason, tc.stdout, stdout.String())
			if err != nil && (!strings.Contains(err.Error(), path) || hint.Of(err) == "") {
				t.Errorf("%s: %q names no script, or no next step: %q", tc.reason, err, hint.Of(err))
			}
		})
	}
}

// A signal ends a context at the first output of the script.
type signal struct {
	cancel context.CancelCauseFunc
	cause  error
}

func (s signal) Write(p []byte) (int, error) {
	s.cancel(s.cause)
	return len(p), nil
}

func TestStopScript(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	out := signal{cancel: cancel, cause: errors.New("the user stopped it")}
	held, stdout, err := os.Pipe()
	e2e.NoError(t, err)
	defer func() { _ = held.Close() }()
	path := writeFile(t, filepath.Join(t.TempDir(), "init.sh"), "#!/bin/sh\nsleep 300 &\necho ready >&2\nwait\n", 0o755)
	err = scaffold.RunScript(ctx, scaffold.Result{Dir: filepath.Dir(path), Script: path}, nil, stdout, out)
	e2e.ErrorIs(t, "the error is the cause of the end", err, out.cause)
	// A read from the pipe returns EOF when no process has its write end open.
	e2e.NoError(t, stdout.Close())
	e2e.NoError(t, held.SetReadDeadline(time.Now().Add(30*time.Second)))
	e2e.WantError(t, "a child of the script still runs", e2e.Err(io.ReadAll(held)), "")
}

func TestModesDoNotDependOnUmask(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	r.commit(t, "first", files{"a/f": text("x"), "run": program("y")})
	want := "0o100644 new/out/a/f\n0o100755 new/out/run\n0o40750 new\n0o40750 new/out\n0o40755 new/out/a"
	for _, umask := range []int{0, 0o022, 0o077} {
		root := t.TempDir()
		old := syscall.Umask(umask)
		_, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: filepath.Join(root, "new/out")})
		syscall.Umask(old)
		e2e.NoError(t, err)
		e2e.Equal(t, fmt.Sprintf("modes do not depend on umask %o", umask), want, tree(t, root))
	}
}

// If Init cannot create the directory, the error names the directory.
func TestDirectoryBelowAFile(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	r.commit(t, "first", files{"f": text("x")})
	file := filepath.Join(t.TempDir(), "file")
	e2e.NoError(t, os.WriteFile(file, nil, 0o600))
	dir := filepath.Join(file, "out")
	e2e.WantError(t, "the error names the directory", e2e.Err(scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: dir})), dir)
}
