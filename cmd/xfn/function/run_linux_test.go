package function_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

func TestMain(m *testing.M) {
	functiontest.Supervise()
	os.Exit(m.Run())
}

// packageOf writes a package whose function has this behavior.
func packageOf(t *testing.T, b functiontest.Behavior) string {
	t.Helper()
	layer := e2e.Must(remotetest.Layer(map[string][]byte{"child": e2e.Must(functiontest.BuildChild())(t)}))(t)
	img := remotetest.Image(t, v1.Config{
		Entrypoint: []string{"/child"}, Cmd: functiontest.ChildArgs(b, ""), Env: []string{"SAY=greeting: of the image"},
	}, layer)
	path := filepath.Join(t.TempDir(), "fn.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, img, nil))
	return path
}

// running is a started xfn run. target is the address that the command has printed.
type running struct {
	target    string // empty if the command did not serve
	interrupt func()
	ended     func() (stderr string, err error)
}

// start runs the command until it is interrupted. If the system forbids sandboxes, ended
// skips the test, or fails it if XFN_REQUIRE contains "sandbox".
func start(t *testing.T, cmd function.RunCmd) running {
	t.Helper()
	cmd.CacheDir = t.TempDir()
	cmd.StartTimeout, cmd.MaxMessageSize = time.Minute, 64
	out, stdout := pipe(t)
	errs, stderr := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	said, done := make(chan string, 1), make(chan error, 1)
	go func() {
		text, _ := io.ReadAll(errs)
		said <- string(text)
	}()
	go func() {
		done <- cmd.Run(ctx, terminal.New(os.Stdin, stdout, stderr), terminal.Program{Name: "xfn"})
		_ = errors.Join(stdout.Close(), stderr.Close())
	}()
	line, _ := bufio.NewReader(out).ReadString('\n')
	target, _ := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "listening on ")
	return running{target, cancel, func() (string, error) {
		err := e2e.Receive(t, done)
		functiontest.RequireSandbox(t, err)
		return e2e.Receive(t, said), err
	}}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	e2e.NoError(t, err)
	t.Cleanup(func() { _ = errors.Join(r.Close(), w.Close()) })
	return r, w
}

// runCall calls a function whose input has the response to return.
func runCall(t *testing.T, target string) (*fnv1.RunFunctionResponse, error) {
	t.Helper()
	client := e2e.Must(grpc.Dial(target, grpc.Options{}))(t)
	defer client.Close()
	req := &fnv1.RunFunctionRequest{}
	e2e.NoError(t, protojson.Unmarshal([]byte(`{"input": {"response": {"meta": {"tag": "hi"}}}}`), req))
	return client.RunFunction(t.Context(), "f", req)
}

func TestRun(t *testing.T) {
	dir := e2e.ShortDir(t)
	t.Setenv("TMPDIR", dir)
	pkg := packageOf(t, functiontest.Serves)
	cases := map[string]struct{ reason, address, want string }{
		"Port":   {"the address may be a port of the loopback interface", "127.0.0.1:0", "127.0.0.1:"},
		"Socket": {"the address may be a socket", "unix:" + dir + "/s", "unix://" + dir + "/s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := function.RunCmd{Image: pkg, Address: tc.address}
			cmd.Network, cmd.Env = "Isolated", []string{"SAY=greeting: a,b=c"}
			r := start(t, cmd)
			if !strings.HasPrefix(r.target, tc.want) || strings.HasSuffix(r.target, ":0") {
				stderr, err := r.ended()
				t.Fatalf("%s: it listens on %q: %v\n%s", tc.reason, r.target, err, stderr)
			}
			for range 2 {
				e2e.Equal(t, tc.reason+": the function answers each call", "hi", e2e.Must(runCall(t, r.target))(t).GetMeta().GetTag())
			}
			r.interrupt()
			stderr, err := r.ended()
			e2e.WantError(t, "an interrupt is not an error", err, "")
			for _, want := range []string{
				"greeting: a,b=c\n", "note: " + pkg + " in a sandbox (loopback only",
				"note: to render with it, annotate its Function with render.crossplane.io/runtime: Development and render.crossplane.io/runtime-development-target: " + r.target + "\n",
			} {
				e2e.Has(t, tc.reason+": stderr has the function's output and the notes", stderr, want)
			}
			for _, pattern := range []string{"xfn-*", "s"} {
				if left, err := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 || err != nil {
					t.Errorf("left behind: %v, %v", left, err)
				}
			}
		})
	}
}

// TestRunDies checks that the command ends when the function does, with its last output.
func TestRunDies(t *testing.T) {
	cmd := function.RunCmd{Image: packageOf(t, functiontest.DiesInCall), Address: "127.0.0.1:0"}
	cmd.Network = "Isolated"
	r := start(t, cmd)
	if r.target != "" {
		if _, err := runCall(t, r.target); status.Code(err) == codes.OK {
			t.Error("the call has no error")
		}
	}
	_, err := r.ended()
	const want = ": the function ended unexpectedly (exit code 137); its last output:\n  greeting: of the image\n  a simulated crash in a call"
	if err == nil || !strings.HasPrefix(err.Error(), "running function ") || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q at its end", err, want)
	}
}

func TestRunFails(t *testing.T) {
	cases := map[string]struct {
		reason, address, network string
		behavior                 functiontest.Behavior
		want                     string
	}{
		"Crashes": {"a function that ends before it serves is an error", "127.0.0.1:0", "Isolated", functiontest.Crashes, "the function ended unexpectedly (exit code 3); its last output:\n  line 12\n"},
		"Babbles": {"a program that does not serve is an error", "127.0.0.1:0", "Isolated", functiontest.Babbles, "starting function "},
		"Address": {"an invalid address is an error", "nowhere:99999", "Isolated", functiontest.Serves, `listening on "nowhere:99999": `},
		"Network": {"flags are validated first", "nowhere:99999", "Host", functiontest.Serves, `reading --network: unknown network "Host"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := function.RunCmd{Image: packageOf(t, tc.behavior), Address: tc.address}
			cmd.Network = tc.network
			r := start(t, cmd)
			e2e.ErrorHas(t, tc.reason, e2e.Err(r.ended()), tc.want)
			e2e.Equal(t, "it said that it listens on", "", r.target)
		})
	}
}
