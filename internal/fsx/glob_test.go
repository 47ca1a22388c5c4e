package fsx_test

import (
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

func TestGlob(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	for _, name := range []string{"a[b", "a[b]", ""} {
		dir := filepath.Join(parent, name)
		e2e.WriteFiles(t, dir, map[string]string{"x/1.py": "", "y/2.py": "", "y/2.txt": ""})
		want := []string{filepath.Join(name, "x", "1.py"), filepath.Join(name, "y", "2.py")}
		e2e.Equal(t, "the folder "+name, want, e2e.Must(fsx.Glob(name, "*/*.py"))(t))
	}
	e2e.Error(t, "an invalid pattern is an error", e2e.Err(fsx.Glob(parent, "[")))
}
