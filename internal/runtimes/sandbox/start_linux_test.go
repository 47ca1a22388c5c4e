package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// begin starts a function that is stopped at the end of the test, and skips the test if
// the system does not permit sandboxes.
func begin(t *testing.T, s sandbox.Sandbox, fn runtimes.Function) *runtimes.Instance {
	t.Helper()
	instance, err := s.Start(t.Context(), fn)
	functiontest.RequireSandbox(t, err)
	e2e.NoError(t, err)
	t.Cleanup(func() {
		e2e.NoError(t, instance.Stop(context.WithoutCancel(t.Context())))
	})
	return instance
}

// TestStart checks that a function starts from each kind of package source, and that the
// Identity is the same for all.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	img := sizedPackage(t, dir, program(t, "function"), programSize+1)
	file := filepath.Join(dir, "function.xpkg")
	writePackage(t, file, img)
	var identities []string
	for name, pkg := range map[string]string{
		"File":       file,
		"DockerSave": saved(t, filepath.Join(dir, "saved.xpkg"), img),
		"Reference":  pushed(t, remotetest.Serve(t, remotetest.Handler())+"/function:v1", img),
	} {
		t.Run(name, func(t *testing.T) {
			instance := begin(t, sandbox.Sandbox{Cache: t.TempDir()}, runtimes.Function{Name: "function", Package: pkg})
			e2e.NoError(t, ask(t.Context(), instance))
			identities = append(identities, instance.Identity)
		})
	}
	for _, id := range identities {
		if !strings.HasPrefix(id, "sha256:") || id != identities[0] {
			t.Errorf("the same image has the identities %q", identities)
		}
	}
}

// TestStartChangedFile checks that unpacking returns an error if a layer in a file of
// docker save was changed. Opening the file does not detect the change, because it reads
// no layers, so that the time to open a file does not depend on its size.
func TestStartChangedFile(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "function")
	e2e.NoError(t, os.WriteFile(program, []byte("#!/no/interpreter"), 0o755))
	file := saved(t, filepath.Join(dir, "saved.xpkg"), sizedPackage(t, dir, program, programSize+1_000_000))
	data, err := os.ReadFile(file)
	e2e.NoError(t, err)
	data[len(data)/2]++ // change a byte in the middle, in the layer of random bytes
	e2e.NoError(t, os.WriteFile(file, data, 0o644))
	_, err = sandbox.Sandbox{Cache: t.TempDir()}.Start(t.Context(), runtimes.Function{Name: "function", Package: file})
	e2e.ErrorHas(t, "Start() of a file whose layer was changed", err, "unpacking the image")
}
