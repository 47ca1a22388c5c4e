//go:build unix

package archive_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// Opening a pipe waits until another process writes to it.
func TestOpenRefusesPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	e2e.NoError(t, syscall.Mkfifo(path, 0o600))
	e2e.ErrorHas(t, "a pipe is an error, and is not opened", e2e.Err(archive.Open(t.Context(), path)), "not a regular file")
}
