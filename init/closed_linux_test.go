package scaffold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestObjectsAreClosed uses an object for each file, and one that is too large for memory.
func TestObjectsAreClosed(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	large := strings.Repeat("0123456789abcdef", 1<<17)
	r.commit(t, "first", files{"a": text("a"), "b": text("b"), "large": text(large), "link": link("a")})
	root, dir := path(t, r), filepath.Join(t.TempDir(), "out")
	_, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: root, Dir: dir})
	e2e.NoError(t, err)
	if e2e.ReadFile(t, filepath.Join(dir, "large")) != large {
		t.Error("a large file was not written whole")
	}
	for _, e := range e2e.Must(os.ReadDir("/proc/self/fd"))(t) {
		// An error means that the descriptor was closed in between.
		if file, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(file, root) {
			t.Errorf("%q is open, want no open file of the repository", file)
		}
	}
}
