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

	"github.com/xfn-dev/xfn/internal/sandbox"
	"github.com/xfn-dev/xfn/internal/sandbox/sandboxtest"
)

// The environment variables that select the role of this program.
const (
	hostileVar    = "XFN_TEST_HOSTILE"    // the hostile program is built in this directory
	callerVar     = "XFN_TEST_CALLER"     // play a caller that is killed
	confinerVar   = "XFN_TEST_CONFINER"   // play a caller that uses Confine
	capabilityVar = "XFN_TEST_CAPABILITY" // play root with only this capability
)

func TestMain(m *testing.M) {
	sandboxtest.Supervise()
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

// hostile builds the hostile program and the caller, both static, in a
// directory that every user may enter, and returns the path of the hostile
// program.
var hostile = sync.OnceValues(func() (string, error) {
	if file := os.Getenv(hostileVar); file != "" {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "hostile")
	build := exec.Command("go", "build", "-o", dir+"/", "./testdata/hostile", "./testdata/caller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, os.Chmod(dir, 0o755)
})

// plain builds these tests beside the hostile program, static and without the
// race detector, which needs more memory than the limits of some tests allow.
var plain = sync.OnceValues(func() (string, error) {
	file, err := hostile()
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(file), "test")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// newRoot returns a root that contains only the hostile program.
func newRoot(t testing.TB) string {
	t.Helper()
	file, err := hostile()
	if err != nil {
		t.Fatalf("building the hostile program: %v", err)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "hostile"), data, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// acting returns a spec that runs one action of the hostile program.
func acting(root string, act ...string) sandbox.Spec {
	return sandbox.Spec{Root: root, Args: append([]string{"/hostile"}, act...), UID: 65532, GID: 65532}
}

// begin starts a sandbox that ends with the test. It skips the test where the
// system does not permit sandboxes, and fails if XFN_REQUIRE asks for
// sandboxes.
func begin(t testing.TB, spec sandbox.Spec) *sandbox.Process {
	t.Helper()
	return beginBy(t, sandbox.Start, spec)
}

// A door is a way to start functions: Start or Confine.
type door func(context.Context, sandbox.Spec) (*sandbox.Process, error)

func beginBy(t testing.TB, start door, spec sandbox.Spec) *sandbox.Process {
	t.Helper()
	p, err := start(t.Context(), spec)
	sandboxtest.Allowed(t, err)
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("Stop(): %v", err)
		}
	})
	return p
}

// pipe returns both ends of a pipe, which are closed when the test ends.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// play runs a sandbox to its end, and returns what it wrote to stdout, without
// the last newline, and its exit code.
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
	if err != nil {
		t.Errorf("Wait(): %v", err)
	}
	return strings.TrimSuffix(string(out), "\n"), code
}

// call plays a caller: it starts a sandbox with its own stdout, listens for the
// function at the path beside the root, and waits to be killed.
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
