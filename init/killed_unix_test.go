//go:build unix

package scaffold_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// A copier calls copy at each call of Err.
type copier struct {
	context.Context
	copy func()
}

func (c copier) Err() error {
	c.copy()
	return nil
}

// The files that a process leaves in a directory if it is killed before it publishes the first file do
// not block a later Init. Those of a running process do.
func TestKilledAnywhere(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	r.commit(t, "first", files{"a/f": text("x"), "b": text("y")})
	o := scaffold.Options{Name: "fn", Template: path(t, r), Dir: filepath.Join(t.TempDir(), "out")}
	var left []string
	var whileRunning error
	_, err := scaffold.Init(copier{t.Context(), func() {
		if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) != 1 {
			return
		}
		left = append(left, t.TempDir())
		e2e.NoError(t, os.CopyFS(left[len(left)-1], os.DirFS(o.Dir)))
		_, whileRunning = scaffold.Init(t.Context(), o)
	}}, o)
	e2e.NoError(t, err)
	e2e.WantError(t, "the directory is in use", whileRunning, "is not empty: it has xfn-")
	if len(left) < 3 {
		t.Errorf("copied the directory at %d points only, and not between all files", len(left))
	}
	want := contents(t, o.Dir)
	for _, o.Dir = range left {
		_, err := scaffold.Init(t.Context(), o)
		e2e.WantError(t, "a killed process left its staging folder", err, "")
		e2e.Equal(t, "the staging folder is removed", want, contents(t, o.Dir))
	}
}
