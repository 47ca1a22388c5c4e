package npm_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

func TestPrune(t *testing.T) {
	data := tarball(t, manifest)
	server := serve(t, data)
	s := open(t, server, "")
	cache, dir := npm.Cache(), t.TempDir()
	s.Dir = filepath.Join(dir, cache.Name)
	e2e.Equal(t, "a missing folder", language.Usage{}, e2e.Must(cache.Used(t.Context(), dir))(t))
	u := e2e.Must(get(t, s, packageOf(data)))(t)
	used, err := cache.Used(t.Context(), dir)
	if err != nil || used.Entries != 1 || used.Bytes == 0 {
		t.Errorf("got %v, %v", used, err)
	}
	past := time.Now().Add(-48 * time.Hour)
	e2e.NoError(t, os.Chtimes(filepath.Dir(u.Dir), past, past))
	if _, err := get(t, s, packageOf(data)); err != nil { // It marks the package as used.
		t.Fatal(err)
	}
	day := time.Now().Add(-24 * time.Hour)
	e2e.Equal(t, "a used package", language.Usage{}, e2e.Must(cache.Prune(t.Context(), dir, day, false))(t))
	e2e.NoError(t, os.Chtimes(filepath.Dir(u.Dir), past, past))
	for _, dry := range []bool{true, false} {
		got, err := cache.Prune(t.Context(), dir, day, dry)
		if diff := cmp.Diff(used, got); err != nil || diff != "" {
			t.Errorf("dry %t: %v\n%s", dry, err, diff)
		}
	}
	if _, err := os.Stat(u.Dir); !os.IsNotExist(err) {
		t.Errorf("the package still exists: %v", err)
	}
}
