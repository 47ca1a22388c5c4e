package function_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	runner "github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// served starts the command until the test ends, and returns the address in its note.
func served(t *testing.T, cmd function.ServeCmd) string {
	t.Helper()
	notes, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- cmd.Run(ctx, terminal.New(os.Stdin, os.Stdout, stderr))
		_ = stderr.Close()
	}()
	line, _ := bufio.NewReader(notes).ReadString('\n')
	t.Cleanup(func() {
		cancel()
		if err := e2e.Receive(t, done); err != nil {
			t.Errorf("after an interrupt: %v", err)
		}
		_ = notes.Close()
	})
	_, address, ok := strings.Cut(strings.TrimSpace(line), " on ")
	if !ok {
		cancel()
		t.Fatalf("the first note is %q", line)
	}
	return address
}

func connect(t *testing.T, target string) runner.Runner {
	t.Helper()
	client, err := grpc.Dial(target, grpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestGoldenOverGRPC compares the served builtins with the answers of the
// original functions. A served builtin behaves like the newest release, which refuses the
// field ttl in three inputs.
func TestGoldenOverGRPC(t *testing.T) {
	const golden = "../../../testdata/golden"
	withTTL := []string{"xr-ttl-annotation", "xr-ttl-negative", "xr-ttl-on-parse-fatal"}
	for name, cases := range map[string]string{
		"auto-ready":          "autoready",
		"cel-filter":          "cel-filter",
		"dummy":               "dummy",
		"environment-configs": "environment-configs",
		"extra-resources":     "extra-resources",
		"go-templating":       "go-templating",
		"patch-and-transform": "pt",
		"sequencer":           "sequencer",
		"tag-manager":         "tag-manager",
		"status-transformer":  "status-transformer",
	} {
		t.Run(name, func(t *testing.T) {
			cmd := function.ServeCmd{Name: name, Address: "127.0.0.1:0", Insecure: true}
			cmd.Templates = []string{functiontest.LinkedFolder(t, golden+"/go-templating-fs", "tpl/linkdir/dir", "tpl/links/linked.yaml")}
			address := served(t, cmd)
			functiontest.Golden(t, filepath.Join(golden, cases), connect(t, address), withTTL...)
		})
	}
}

// TestGoldenErrorOverGRPC compares a served builtin with the original function where that
// returns an error instead of a response.
func TestGoldenErrorOverGRPC(t *testing.T) {
	const golden = "../../../testdata/golden/sequencer-grpc-error/deletion-bad-regex"
	address := served(t, function.ServeCmd{Name: "sequencer", Address: "127.0.0.1:0", Insecure: true})
	_, err := connect(t, address).RunFunction(t.Context(), "f", functiontest.Request(t, golden+"/request.yaml"))
	if got := status.Convert(err); got.Code() != codes.Unknown || got.Message() != "cannot compile regex b(: error parsing regexp: missing closing ): `^b($`" {
		t.Errorf("got %v", err)
	}
}

// TestServeManyAtOnce checks that one function serves many concurrent calls.
func TestServeManyAtOnce(t *testing.T) {
	const cases = "../../../testdata/golden/autoready"
	client := connect(t, served(t, function.ServeCmd{Name: "auto-ready", Address: "127.0.0.1:0", Insecure: true}))
	ready := functiontest.Request(t, cases+"/pod-running-ready/request.yaml")
	not := functiontest.Request(t, cases+"/pod-running-notready/request.yaml")
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			req, want := ready, fnv1.Ready_READY_TRUE
			if i%2 == 1 {
				req, want = not, fnv1.Ready_READY_UNSPECIFIED
			}
			rsp, err := client.RunFunction(t.Context(), "f", req)
			if err != nil {
				t.Error(err)
			}
			for name, r := range rsp.GetDesired().GetResources() {
				if r.GetReady() != want {
					t.Errorf("call %d: %s is %v, want %v", i, name, r.GetReady(), want)
				}
			}
		})
	}
	e2e.Wait(t, &calls)
}

func TestServeAddresses(t *testing.T) {
	dir, err := os.MkdirTemp("", "fn") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := "unix://" + filepath.Join(dir, "s")
	cases := map[string]struct{ reason, address, want string }{
		"Port":   {"the note has the port that replaces port 0", "127.0.0.1:0", "127.0.0.1:"},
		"Socket": {"the note has the given path of a socket", socket, socket},
		"Any":    {"an address without a host is every address of this machine", ":0", "[::]:"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			address := served(t, function.ServeCmd{Name: "function-dummy", Address: tc.address, Insecure: true})
			if !strings.HasPrefix(address, tc.want) || strings.HasSuffix(address, ":0") {
				t.Errorf("%s: got %s", tc.reason, address)
			}
			req := functiontest.Request(t, "../../../testdata/golden/dummy/results/request.yaml")
			if rsp, err := connect(t, address).RunFunction(t.Context(), "f", req); err != nil || len(rsp.GetResults()) == 0 {
				t.Errorf("%s: got %v, %v", tc.reason, rsp, err)
			}
		})
	}
}

// TestServeOverDeadSocket checks that a socket of a killed process is replaced,
// but neither a socket that is served nor a file.
func TestServeOverDeadSocket(t *testing.T) {
	dir := t.TempDir()
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	served(t, function.ServeCmd{Name: "dummy", Address: "unix://" + filepath.Join(dir, "dead"), Insecure: true})
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dead", "file"} {
		cmd := function.ServeCmd{Name: "dummy", Address: "unix:" + filepath.Join(dir, name), Insecure: true}
		err := cmd.Run(t.Context(), terminal.New(os.Stdin, os.Stdout, os.Stderr))
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "precious" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
