//go:build unix

package manifest_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/afero"
	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// TestPipe checks that opening a pipe without a writer stops with the context.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	e2e.NoError(t, unix.Mkfifo(path, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	e2e.ErrorIs(t, "reading a pipe without a writer ends with the context", e2e.Err((manifest.Reader{FS: afero.NewOsFs()}).Bytes(ctx, path)), context.DeadlineExceeded)
}

// TestPipeInFolder checks that a pipe in a folder is not read, as for all other special files.
func TestPipeInFolder(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{"a.yaml": "kind: A\n"})
	e2e.NoError(t, unix.Mkfifo(filepath.Join(dir, "b.yaml"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	docs := e2e.Must(manifest.Reader{FS: afero.NewOsFs()}.All(ctx, dir))(t)
	e2e.Equal(t, "only the regular file is read", 1, len(docs))
}
