package fsx_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// begun calls Resume with a key, and writes content to the file.
func begun(t *testing.T, dir, key, content string) *fsx.AtomicFile {
	t.Helper()
	f := e2e.Open(fsx.Resume(dir, key))(t)
	e2e.NoError(t, e2e.Err(f.WriteAt([]byte(content), 0)))
	return f
}

func keep(t *testing.T, f *fsx.AtomicFile) {
	t.Helper()
	e2e.Equal(t, "Keep keeps a file that was not committed", true, e2e.Must(f.Keep())(t))
}

// sizeOf returns the size of the file that Resume returns for a key.
func sizeOf(t *testing.T, dir, key string) int64 {
	t.Helper()
	f := e2e.Must(fsx.Resume(dir, key))(t)
	n := e2e.Must(f.Size())(t)
	if ok, err := f.Keep(); err != nil {
		t.Fatalf("got %v, %v", ok, err)
	}
	return n
}

func only(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %v, %v, want one file", entries, err)
	}
	return filepath.Join(dir, entries[0].Name())
}

func TestResume(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot resume files")
	}
	cases := map[string]struct {
		reason  string
		between func(t *testing.T, dir string)
		key     string
		want    int64
	}{
		"Kept":    {"a kept file is resumed", func(*testing.T, string) {}, "a", 5},
		"Other":   {"another key has another file", func(*testing.T, string) {}, "b", 0},
		"Created": {"Create keeps a fresh file", func(t *testing.T, dir string) { created(t, dir) }, "a", 5},
		"Old": {"Create removes an old file", func(t *testing.T, dir string) {
			long := time.Now().Add(-25 * time.Hour)
			e2e.NoError(t, os.Chtimes(only(t, dir), long, long))
			created(t, dir)
		}, "a", 0},
		"Writable": {"a file that others may write is not resumed", func(t *testing.T, dir string) {
			e2e.NoError(t, os.Chmod(only(t, dir), 0o666))
		}, "a", 0},
		"Group": {"a file that its group may write is removed", func(t *testing.T, dir string) {
			path := only(t, dir)
			e2e.NoError(t, os.Chmod(path, 0o664))
			f := e2e.Must(fsx.Resume(dir, "a"))(t)
			e2e.NoError(t, f.Close())
			e2e.ErrorIs(t, "the error of a file that does not exist", e2e.Err(os.Stat(path)), fs.ErrNotExist)
		}, "a", 0},
		"Committing": {"a file whose process was killed before it was renamed is resumed", func(t *testing.T, dir string) {
			e2e.NoError(t, os.Chmod(only(t, dir), 0o644))
		}, "a", 5},
		"Link": {"a link is not resumed", func(t *testing.T, dir string) {
			path, other := only(t, dir), filepath.Join(t.TempDir(), "other")
			e2e.NoError(t, os.Rename(path, other))
			e2e.NoError(t, os.Symlink(other, path))
		}, "a", 0},
		"HardLink": {"a file with another name is not resumed", func(t *testing.T, dir string) {
			e2e.NoError(t, os.Link(only(t, dir), filepath.Join(t.TempDir(), "other")))
		}, "a", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			keep(t, begun(t, dir, "a", "begun"))
			if !fsx.IsTemporary(filepath.Base(only(t, dir))) {
				t.Error("its name is not the name of a temporary file")
			}
			tc.between(t, dir)
			e2e.Equal(t, tc.reason, tc.want, sizeOf(t, dir, tc.key))
			if name == "Committing" {
				if info, err := os.Stat(only(t, dir)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: others can read it: %v, %v", tc.reason, info, err)
				}
			}
		})
	}
}

func created(t *testing.T, dir string) {
	t.Helper()
	f := e2e.Must(fsx.Create(dir))(t)
	e2e.NoError(t, f.Close())
}

// If two open files have the same key, Keep does not keep the second.
func TestResumeTwice(t *testing.T) {
	dir := t.TempDir()
	first := begun(t, dir, "a", "first")
	second := begun(t, dir, "a", "the second")
	e2e.Equal(t, "a second file with the same key is not kept", false, e2e.Must(second.Keep())(t))
	path := filepath.Join(dir, "done")
	e2e.NoError(t, first.Commit(path, 0o644))
	e2e.Equal(t, "a committed file is not kept again", false, e2e.Must(first.Keep())(t))
	e2e.Equal(t, "the first file is kept", "first", e2e.ReadFile(t, only(t, dir)))
}

// If Keep is not called, Close removes the file.
func TestResumeClosed(t *testing.T) {
	dir := t.TempDir()
	e2e.NoError(t, begun(t, dir, "a", "x").Close())
	e2e.Equal(t, "a closed file that was not kept is removed", 0, len(e2e.Must(os.ReadDir(dir))(t)))
	e2e.Error(t, "a missing directory is an error", e2e.Err(fsx.Resume(filepath.Join(dir, "none"), "a")))
}
