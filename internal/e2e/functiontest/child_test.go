package functiontest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func TestMain(m *testing.M) {
	if exit, isChild := functiontest.RunChild(context.Background(), os.Args[1:], os.Stderr); isChild {
		os.Exit(exit)
	}
	os.Exit(m.Run())
}

// start runs this test binary as a child that listens on a unix socket.
func start(t *testing.T, b functiontest.Behavior, lifeline string, flags ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(e2e.Context(t), os.Args[0], append(functiontest.ChildArgs(b, lifeline), flags...)...)
	stderr := &bytes.Buffer{}
	cmd.Stderr, cmd.WaitDelay = stderr, time.Second
	e2e.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = e2e.Await(t, cmd.Wait)
	})
	return cmd, stderr
}

// lifeline returns the path of a new unix socket, and its listener.
func lifeline(t *testing.T) (string, net.Listener) {
	t.Helper()
	dir := e2e.ShortDir(t)
	lis := e2e.Open(net.Listen("unix", filepath.Join(dir, "s")))(t)
	return lis.Addr().String(), lis
}

func accept(t *testing.T, lis net.Listener) net.Conn {
	t.Helper()
	return e2e.Open(lis.Accept())(t)
}

func dial(t *testing.T, sock string) *grpc.Client {
	t.Helper()
	return e2e.Open(grpc.Dial("unix://"+sock, grpc.Options{}))(t)
}

func TestRunChildIsForChildrenOnly(t *testing.T) {
	for _, args := range [][]string{nil, {"-test.v"}, {"-test.run", "x", "--insecure"}} {
		if _, isChild := functiontest.RunChild(t.Context(), args, io.Discard); isChild {
			t.Errorf("%q started a child", args)
		}
	}
}

func TestChildServes(t *testing.T) {
	path, lis := lifeline(t)
	sock := filepath.Join(filepath.Dir(path), "fn")
	cmd, _ := start(t, functiontest.Serves, path, "--insecure", "--network=unix", "--address="+sock)
	life := accept(t, lis)
	client := dial(t, sock)
	e2e.NoError(t, client.WaitReady(t.Context()))
	rsp := e2e.Must(client.RunFunction(t.Context(), "f", request(t, `{"response": {"meta": {"tag": "hi"}}}`)))(t)
	e2e.Equal(t, "the child answers with the response in the request", "hi", rsp.GetMeta().GetTag())

	e2e.NoError(t, cmd.Process.Signal(os.Interrupt))
	e2e.WantError(t, "an interrupted child must exit with status 0", e2e.Await(t, cmd.Wait), "")
	e2e.WantError(t, "the lifeline has no process id", e2e.Err(bufio.NewReader(life).ReadString('\n')), "")
	if n, err := life.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading the lifeline of an ended child: got %d, %v", n, err)
	}
}

func TestChildForks(t *testing.T) {
	path, lis := lifeline(t)
	cmd, _ := start(t, functiontest.Forks, path, "--network=unix", "--address="+filepath.Join(filepath.Dir(path), "fn"))
	pids := map[string]bool{}
	for range 2 {
		line := e2e.Must(bufio.NewReader(accept(t, lis)).ReadString('\n'))(t)
		pids[strings.TrimSpace(line)] = true
	}
	own := strconv.Itoa(cmd.Process.Pid)
	if len(pids) != 2 || !pids[own] {
		t.Fatalf("got processes %v, want %s and another", pids, own)
	}
	delete(pids, own)
	for pid := range pids {
		id := e2e.Must(strconv.Atoi(pid))(t)
		child := e2e.Must(os.FindProcess(id))(t)
		e2e.WantError(t, "the child of the child has ended", child.Kill(), "")
	}
}

func TestChildInCall(t *testing.T) {
	cases := map[string]struct {
		reason   string
		behavior functiontest.Behavior
		want     error
	}{
		"Dies":  {"a function that dies in a call closes the connection", functiontest.DiesInCall, nil},
		"Hangs": {"a function that hangs in a call runs into the caller's timeout", functiontest.HangsInCall, context.DeadlineExceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path, _ := lifeline(t)
			sock := filepath.Join(filepath.Dir(path), "fn")
			start(t, tc.behavior, "", "--network=unix", "--address="+sock)
			c := dial(t, sock)
			e2e.NoError(t, c.WaitReady(t.Context()))
			ctx := t.Context()
			if tc.want != nil {
				timed, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				ctx = timed
			}
			_, err := c.RunFunction(ctx, "f", request(t, `{"response": {}}`))
			if err == nil || (tc.want != nil && !errors.Is(err, tc.want)) || (tc.want == nil && status.Code(err) != codes.Unavailable) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestChildMisbehaves(t *testing.T) {
	cases := map[string]struct {
		reason   string
		behavior functiontest.Behavior
		flags    []string
		exit     int
		stderr   string
	}{
		"Crashes":  {"a crashed child has exit status 3 and writes to stderr", functiontest.Crashes, nil, 3, "line 30\na simulated crash\n"},
		"NoFlag":   {"a function with TCP only has no flag --network", functiontest.ServesTCP, []string{"--network=unix"}, 2, "flag provided but not defined: -network"},
		"BadPlace": {"a child that cannot listen reports the error", functiontest.Serves, []string{"--address=nowhere"}, 3, "nowhere"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd, stderr := start(t, tc.behavior, "", tc.flags...)
			_ = e2e.Await(t, cmd.Wait)
			e2e.Equal(t, tc.reason+": exit", tc.exit, cmd.ProcessState.ExitCode())
			e2e.Has(t, tc.reason, stderr.String(), tc.stderr)
		})
	}
}

func TestChildBabbles(t *testing.T) {
	path, lis := lifeline(t)
	sock := filepath.Join(filepath.Dir(path), "fn")
	_, _ = start(t, functiontest.Babbles, path, "--network=unix", "--address="+sock)
	accept(t, lis)
	client := dial(t, sock)
	e2e.ErrorHas(t, "the error quotes the answer in HTTP/1", client.WaitReady(t.Context()), "HTTP/1.1 ")
}
