//go:build unix

package gotemplating_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestPipes checks named pipes without a writer. Opening such a pipe must not block.
func TestPipes(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{"folder/a": "x", "linked/pipe": "-> ../folder/pipe"})
	e2e.NoError(t, syscall.Mkfifo(filepath.Join(dir, "folder", "pipe"), 0o600))
	for path, want := range map[string]string{
		"folder":      "read folder/pipe: not a regular file",
		"folder/pipe": "read folder/pipe: not a regular file",
		"linked":      "read linked/pipe: not a regular file",
	} {
		got := fatal(t, gotemplating.Options{Dir: dir}, fmt.Sprintf("input: {source: FileSystem, fileSystem: {dirPath: %s}}", path))
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q, want %q at the end", path, got, want)
		}
	}
	root := e2e.Must(os.OpenRoot(dir))(t)
	defer root.Close()
	if err := gotemplating.ReadAs(t.Context(), root, "folder/pipe", true); err == nil || !strings.HasSuffix(err.Error(), "folder/pipe: not a directory") {
		t.Errorf("a folder that was replaced by a pipe: got %v", err)
	}
}
