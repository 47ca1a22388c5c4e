//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// lines returns a function that reads the next line of a pipe.
func lines(t *testing.T, r io.Reader) func() string {
	t.Helper()
	in := bufio.NewReader(r)
	return func() string {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("reading a line: %v (after %q)", err, line)
		}
		return strings.TrimSuffix(line, "\n")
	}
}

// TestOutlivesNotItsCaller checks that no process of a sandbox outlives the process that
// called Start. The function's stdout ends only when all processes of the sandbox have
// ended.
func TestOutlivesNotItsCaller(t *testing.T) {
	root := newRoot(t)
	begin(t, acting(root, "hello"))
	self := e2e.Must(os.Executable())(t)
	r, w := pipe(t)
	caller := exec.Command(self)
	caller.Env, caller.Stdout = append(os.Environ(), callerVar+"="+root), w
	e2e.NoError(t, caller.Start())
	w.Close()
	line := lines(t, r)
	for _, who := range []string{"the function", "a process in its own session"} {
		e2e.Equal(t, who+" is ready", "ready", line())
	}
	e2e.NoError(t, caller.Process.Kill())
	_ = e2e.Await(t, caller.Wait) // ignore the error: the caller was killed
	e2e.Equal(t, "stdout after kill -9 of the caller", "", string(e2e.Must(io.ReadAll(r))(t)))
	if conn, err := net.Dial("unix", root+".sock"); err == nil {
		conn.Close()
		t.Error("after kill -9 of the caller the function's port is still open")
	}
}

func TestEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := pipe(t)
	spec := acting(newRoot(t), "orphan")
	spec.Stdout = w
	begin(t, spec)
	line := lines(t, r)
	line()
	line()
	r2, w2 := pipe(t)
	spec.Stdout = w2
	p := e2e.Must(sandbox.Start(ctx, spec))(t)
	w2.Close()
	line = lines(t, r2)
	line()
	line()
	cancel(errors.New("the context ended"))
	e2e.Equal(t, "the process is killed when its context ends", 128+int(syscall.SIGKILL), e2e.Must(p.Wait())(t))
	e2e.Equal(t, "stdout after the context's end", "", string(e2e.Must(io.ReadAll(r2))(t)))
	e2e.ErrorIs(t, "Start() with a context that has ended", e2e.Err(sandbox.Start(ctx, spec)), context.Canceled)
}

func TestFloodsStderr(t *testing.T) {
	r, w := pipe(t)
	spec := acting(newRoot(t), "stderr")
	spec.Stderr = w
	p := begin(t, spec)
	w.Close()
	if n, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatalf("reading stderr: %d bytes and error %v", n, err)
	}
	// The function is blocked in a write now, because nothing reads its output.
	e2e.WantError(t, "Stop ends a function that is blocked in a write", p.Stop(), "")
	select {
	case <-p.Done():
	default:
		t.Error("Done() is open after Stop()")
	}
}

func TestExitCode(t *testing.T) {
	root := newRoot(t)
	for _, tc := range []struct {
		reason string
		act    []string
		want   int
	}{
		{"an exit code is passed through", []string{"exit", "0"}, 0},
		{"an exit code is passed through", []string{"exit", "42"}, 42},
		{"a signal gives 128 plus its number, as in a shell", []string{"die", "9"}, 137},
		{"a signal gives 128 plus its number, as in a shell", []string{"die", "15"}, 143},
	} {
		_, code := play(t, acting(root, tc.act...))
		e2e.Equal(t, fmt.Sprintf("%v: %s", tc.act, tc.reason), tc.want, code)
	}
}

// TestReleasesFiles checks that the supervisor keeps no file of the function open: when
// the function closes a pipe, its reader sees the end.
func TestReleasesFiles(t *testing.T) {
	r, w := pipe(t)
	spec := acting(newRoot(t), "mute")
	spec.Stdout, spec.Stderr = w, w
	p := begin(t, spec)
	w.Close()
	e2e.NoError(t, r.SetReadDeadline(time.Now().Add(time.Minute)))
	if said, err := io.ReadAll(r); err != nil || len(said) > 0 {
		t.Errorf("after the function closed its files: got %q and error %v, want their end", said, err)
	}
	select {
	case <-p.Done():
		t.Error("the function has ended")
	default:
	}
}

// TestRemovesGroup checks that the control group of a sandbox is removed when the sandbox
// has ended.
func TestRemovesGroup(t *testing.T) {
	p := begin(t, acting(newRoot(t), "block"))
	during := groups(t)
	if by := p.Report().PIDs.By; by == sandbox.Rlimit {
		t.Skip("this user cannot create groups here")
	}
	if len(during) == 0 {
		t.Error("a running sandbox has no control group")
	}
	e2e.WantError(t, "Stop ends the sandbox", p.Stop(), "")
	for _, group := range groups(t) {
		if slices.Contains(during, group) {
			t.Errorf("after the end there is still %s", group)
		}
	}
}

// groups returns the control groups that this process created.
func groups(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), "xfn-"+itoa(os.Getpid())+"-") {
			found = append(found, path)
		}
		return nil // ignore errors: cgroups of other processes appear and disappear
	})
	e2e.NoError(t, err)
	return found
}

// serving starts a function that accepts connections, and returns the path of the unix
// socket that leads to it.
func serving(t testing.TB, root string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "socket")
	l := e2e.Open(net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"}))(t)
	spec := acting(root, "serve", ":9443")
	spec.Listener, spec.Port = l, 9443
	begin(t, spec)
	return name
}

// TestCarriesConnections starts two functions that listen on the same port, each in its
// own network, and connects to both.
func TestCarriesConnections(t *testing.T) {
	root := newRoot(t)
	for _, socket := range []string{serving(t, root), serving(t, root)} {
		for range 3 {
			conn := e2e.Must(net.Dial("unix", socket))(t)
			defer conn.Close()
			const text = "the answer repeats the request"
			e2e.NoError(t, e2e.Err(io.WriteString(conn, text)))
			e2e.NoError(t, conn.(*net.UnixConn).CloseWrite())
			got, err := io.ReadAll(conn)
			if want := "!" + text; string(got) != want || err != nil {
				t.Errorf("through the socket: got %q and error %v, want %q", got, err, want)
			}
		}
	}
}

// TestAsOrdinaryUser runs all tests of this package again as a user without privileges.
func TestAsOrdinaryUser(t *testing.T) {
	if testing.Short() {
		t.Skip("it repeats the tests of this package")
	}
	if os.Geteuid() != 0 {
		t.Skip("this user is not root")
	}
	program, err := plain()
	if err != nil {
		t.Fatalf("building the tests: %v", err)
	}
	const uid, gid = 54321, 54321
	dir := e2e.ShortDir(t)
	e2e.NoError(t, os.Chown(dir, uid, gid))
	cmd := exec.CommandContext(e2e.Context(t), program, "-test.v", "-test.count=1")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), hostileVar+"="+filepath.Join(filepath.Dir(program), "hostile"), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the tests as user %d: %v\n%s", uid, err, failures(string(out)))
	}
	if !strings.Contains(string(out), "--- PASS: TestEscape/User/SupervisorMemory ") && err == nil {
		t.Errorf("the tests as user %d did not run:\n%s", uid, out)
	}
}

// failures returns the output of go test without the lines of passed tests.
func failures(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "=== ") && !strings.HasPrefix(trimmed, "--- PASS") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
