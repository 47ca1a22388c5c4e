//go:build linux

package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// The environment variables that select the role of this test program.
const (
	hostileVar    = "XFN_TEST_HOSTILE"    // path of the test program hostile, if it is built already
	callerVar     = "XFN_TEST_CALLER"     // call Start in the root with this path, and wait to be killed
	confinerVar   = "XFN_TEST_CONFINER"   // call Confine in the root with this path, and wait to be killed
	capabilityVar = "XFN_TEST_CAPABILITY" // run the tests as root with only the capability of this number
)

func TestMain(m *testing.M) {
	functiontest.Supervise()
	switch {
	case os.Getenv(capabilityVar) != "":
		fmt.Println(keepCapability(os.Getenv(capabilityVar)))
		os.Exit(1)
	case os.Getenv(callerVar) != "":
		os.Exit(call(os.Getenv(callerVar)))
	case os.Getenv(confinerVar) != "":
		os.Exit(callConfined(os.Getenv(confinerVar)))
	}
	code := m.Run()
	if dir, err := hostile(); err == nil && os.Getenv(hostileVar) == "" {
		os.RemoveAll(filepath.Dir(dir))
	}
	os.Exit(code)
}

// hostile builds the test programs hostile and caller, both statically linked, in a
// directory that every user may enter. It returns the path of hostile.
var hostile = sync.OnceValues(func() (string, error) {
	if file := os.Getenv(hostileVar); file != "" {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "hostile")
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "./testdata/hostile", "./testdata/caller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, os.Chmod(dir, 0o755)
})

// plain builds this test program in the directory of the program hostile, statically
// linked and without the race detector. With the race detector, a supervisor needs more
// memory than some tests allow.
var plain = sync.OnceValues(func() (string, error) {
	file, err := hostile()
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(file), "test")
	build := exec.Command("go", "test", "-c", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// newRoot returns a root directory that contains only the test program hostile.
func newRoot(t testing.TB) string {
	t.Helper()
	file, err := hostile()
	if err != nil {
		t.Fatalf("building the hostile program: %v", err)
	}
	root := t.TempDir()
	e2e.NoError(t, os.Chmod(root, 0o755))
	data := e2e.Must(os.ReadFile(file))(t)
	e2e.NoError(t, os.WriteFile(filepath.Join(root, "hostile"), data, 0o755))
	return root
}

// acting returns a Spec that runs one action of the test program hostile.
func acting(root string, act ...string) sandbox.Spec {
	return sandbox.Spec{Root: root, Args: append([]string{"/hostile"}, act...), UID: 65532, GID: 65532}
}

// begin starts a sandbox that is stopped at the end of the test. It skips the test if the
// system does not permit sandboxes, or fails it if XFN_REQUIRE requires sandboxes.
func begin(t testing.TB, spec sandbox.Spec) *sandbox.Process {
	t.Helper()
	return beginBy(t, sandbox.Start, spec)
}

// A door is a function that starts functions: Start or Confine.
type door func(context.Context, sandbox.Spec) (*sandbox.Process, error)

func beginBy(t testing.TB, start door, spec sandbox.Spec) *sandbox.Process {
	t.Helper()
	p, err := start(t.Context(), spec)
	functiontest.RequireSandbox(t, err)
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	t.Cleanup(func() {
		e2e.WantError(t, "the sandbox can be stopped at the end of the test", p.Stop(), "")
	})
	return p
}

// pipe returns both ends of a pipe, which are closed when the test ends.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	e2e.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// play runs a sandbox until it ends. It returns what the function wrote to stdout,
// without the last newline, and its exit code.
func play(t testing.TB, spec sandbox.Spec) (said string, code int) {
	t.Helper()
	return playBy(t, sandbox.Start, spec)
}

func playBy(t testing.TB, start door, spec sandbox.Spec) (said string, code int) {
	t.Helper()
	r, w := pipe(t)
	spec.Stdout = w
	p := beginBy(t, start, spec)
	w.Close()
	out, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		t.Fatalf("reading stdout: %v", err)
	}
	code, err = p.Wait()
	e2e.WantError(t, "waiting for the end of the program succeeds", err, "")
	return strings.TrimSuffix(string(out), "\n"), code
}

// call is the main function of a process that a test kills. It starts a sandbox that
// inherits stdout, forwards connections from the socket root+".sock" to it, and waits.
func call(root string) int {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: root + ".sock", Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	spec := acting(root, "orphan")
	spec.Stdout, spec.Listener, spec.Port = os.Stdout, l, 9443
	p, err := sandbox.Start(context.Background(), spec)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	<-p.Done()
	return 1
}

func itoa(n int) string { return strconv.Itoa(n) }
