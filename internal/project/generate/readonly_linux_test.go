package generate_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// A CI job may have a checkout that it cannot write to.
func TestSchemasReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a disk here: %v", err)
	}
	t.Cleanup(func() { e2e.NoError(t, syscall.Unmount(dir, 0)) })
	e2e.NoError(t, os.CopyFS(dir, os.DirFS(files(t, map[string]string{project.File: crossplane, "apis/x.yaml": xrd}))))
	e2e.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	err := generate.Schemas(t.Context(), open(t, filepath.Join(dir, project.File)), generate.SchemaOptions{})
	e2e.ErrorHas(t, "the error says what is written", err, "writing the models of the project's APIs: creating the directory")
	e2e.Has(t, "the hint", string(hint.Of(err)), "add "+filepath.Join(dir, "schemas")+" with the models to the repository")
}
