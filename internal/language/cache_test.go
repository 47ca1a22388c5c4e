package language_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
)

func TestCache(t *testing.T) {
	cache, dir := language.Cache{Name: "python", Folders: []string{"wheels", "layers", "none"}}, t.TempDir()
	past := time.Now().Add(-time.Hour)
	for _, name := range []string{"wheels/old", "wheels/.xfn-aaaaaaaaaaaaaaaaaaaaaaaaaa.tmp", "layers/used", "mine/old"} {
		path := filepath.Join(dir, cache.Name, name)
		e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("content"), 0o600), os.Chtimes(path, past, past)))
	}
	wrongClock := time.Now().AddDate(10, 0, 0)
	e2e.NoError(t, os.Chtimes(filepath.Join(dir, cache.Name, "layers", "used"), wrongClock, wrongClock))
	one, two := language.Usage{Entries: 1, Bytes: 7}, language.Usage{Entries: 2, Bytes: 14}
	e2e.Equal(t, "temporary files and other folders do not count", two, e2e.Must(cache.Used(t.Context(), dir))(t))
	for _, dry := range []bool{true, false} {
		e2e.Equal(t, fmt.Sprintf("only the old entry is removed (dry: %t)", dry), one, e2e.Must(cache.Prune(t.Context(), dir, past.Add(time.Minute), dry))(t))
	}
	e2e.Equal(t, "only the old entry is removed", 3, len(e2e.Must(filepath.Glob(filepath.Join(dir, cache.Name, "*", "*")))(t)))
}

// TestPruneKeepsLocked checks that Prune removes no entry that a build uses.
func TestPruneKeepsLocked(t *testing.T) {
	cache, dir := language.Cache{Name: "go", Folders: []string{"programs"}, Lock: "lock"}, t.TempDir()
	entry := filepath.Join(dir, "go/programs/used")
	e2e.NoError(t, errors.Join(os.MkdirAll(entry, 0o700), os.WriteFile(filepath.Join(entry, "lock"), nil, 0o600)))
	f := e2e.Must(os.OpenFile(filepath.Join(entry, "lock"), os.O_RDWR, 0))(t)
	if locked, err := fsx.TryLock(f, fsx.SharedLock); err != nil || !locked {
		t.Fatalf("TryLock: %v, %v", locked, err)
	}
	later := time.Now().Add(time.Hour)
	e2e.Equal(t, "a locked entry is kept", 0, e2e.Must(cache.Prune(t.Context(), dir, later, false))(t).Entries)
	e2e.NoError(t, f.Close())
	e2e.Equal(t, "an entry that is not locked any more", 1, e2e.Must(cache.Prune(t.Context(), dir, later, false))(t).Entries)
}
