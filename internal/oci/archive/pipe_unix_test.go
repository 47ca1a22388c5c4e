//go:build unix

package archive_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// Opening a pipe waits until another process writes to it.
func TestOpenRefusesPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	e2e.NoError(t, syscall.Mkfifo(path, 0o600))
	if _, err := archive.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v, want an error that the pipe is not a regular file", err)
	}
}
