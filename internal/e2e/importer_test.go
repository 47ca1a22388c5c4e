package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// compileLimit is the timeout of compiling a module with all of its
// dependencies from an empty cache on a busy machine.
const compileLimit = 15 * time.Minute

// testModule runs go test in dir with a go.mod that requires this module, by
// its source instead of a release. It adds the checksums of this module's
// dependencies to sum, so that neither module must list them.
func testModule(t *testing.T, dir, gomod, sum string) {
	t.Helper()
	root := e2e.Must(filepath.Abs("../.."))(t)
	own := e2e.ReadFile(t, root, "go.sum")
	at := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": gomod + "\nrequire github.com/xfn-dev/xfn v0.0.0\n\nreplace github.com/xfn-dev/xfn => " + root + "\n",
		"go.sum": sum + own,
	} {
		e2e.WriteFile(t, filepath.Join(at, name), text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), compileLimit)
	defer cancel()
	// -trimpath and no cgo: the compiled packages of this module are the same in each checkout.
	cmd := exec.CommandContext(ctx, "go", "test", "-trimpath", "-mod=mod", "-modfile="+filepath.Join(at, "go.mod"), "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	e2e.Output(t, cmd)
}

// TestImporter runs the tests of a module that imports the public packages.
func TestImporter(t *testing.T) {
	t.Parallel()
	const dir = "../../testdata/importer"
	gomod := []byte(e2e.ReadFile(t, dir, "go.mod"))
	// testModule adds a replace directive with an absolute path, in place of the
	// relative one.
	gomod, _, _ = bytes.Cut(gomod, []byte("replace "))
	testModule(t, dir, string(gomod), "")
}

// TestTemplate runs the tests of a new function, and a test that uses package xfntest.
func TestTemplate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "function-example")
	e2e.NoError(t, e2e.Err(scaffold.Init(t.Context(), scaffold.Options{Name: "function-example", Template: "go", Dir: dir})))
	e2e.NoError(t, os.CopyFS(dir, os.DirFS("../../templates/testdata/function")))
	gomod := e2e.ReadFile(t, dir, "go.mod")
	sum := e2e.ReadFile(t, dir, "go.sum")
	testModule(t, dir, gomod, sum)
}
