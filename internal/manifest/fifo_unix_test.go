//go:build unix

package manifest_test

import (
	"context"
	"errors"
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
	if _, err := (manifest.Reader{FS: afero.NewOsFs()}).Bytes(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
