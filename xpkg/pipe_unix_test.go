//go:build unix

package xpkg_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// A pipe is refused, because a read of it could block forever.
func TestReadRefusesPipes(t *testing.T) {
	dir := tree(t, "docs/a", "docs/link -> pipe")
	e2e.NoError(t, syscall.Mkfifo(filepath.Join(dir, "docs", "pipe"), 0o644))
	e2e.ErrorHas(t, "a link to a pipe is an error", e2e.Err(xpkg.ReadExtensions(t.Context(), dir)), "neither a file nor a folder")
}
