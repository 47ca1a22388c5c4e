//go:build unix

package xpkg_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// A pipe is refused, because a read of it could block forever.
func TestReadRefusesPipes(t *testing.T) {
	dir := tree(t, "docs/a", "docs/link -> pipe")
	e2e.NoError(t, syscall.Mkfifo(filepath.Join(dir, "docs", "pipe"), 0o644))
	if _, err := xpkg.ReadExtensions(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("got %v, want an error", err)
	}
}
