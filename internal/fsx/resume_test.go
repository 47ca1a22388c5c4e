package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// begun calls Resume with a key, and writes content to the file.
func begun(t *testing.T, dir, key, content string) *fsx.AtomicFile {
	t.Helper()
	f, err := fsx.Resume(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func keep(t *testing.T, f *fsx.AtomicFile) {
	t.Helper()
	if ok, err := f.Keep(); !ok || err != nil {
		t.Fatalf("got %v, %v", ok, err)
	}
}

// sizeOf returns the size of the file that Resume returns for a key.
func sizeOf(t *testing.T, dir, key string) int64 {
	t.Helper()
	f, err := fsx.Resume(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
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
			if err := os.Chtimes(only(t, dir), long, long); err != nil {
				t.Fatal(err)
			}
			created(t, dir)
		}, "a", 0},
		"Writable": {"a file that others may write is not resumed", func(t *testing.T, dir string) {
			if err := os.Chmod(only(t, dir), 0o666); err != nil {
				t.Fatal(err)
			}
		}, "a", 0},
		"Group": {"a file that its group may write is removed", func(t *testing.T, dir string) {
			path := only(t, dir)
			if err := os.Chmod(path, 0o664); err != nil {
				t.Fatal(err)
			}
			f, err := fsx.Resume(dir, "a")
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v, want the error of a file that does not exist", err)
			}
		}, "a", 0},
		"Committing": {"a file whose process was killed before it was renamed is resumed", func(t *testing.T, dir string) {
			if err := os.Chmod(only(t, dir), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "a", 5},
		"Link": {"a link is not resumed", func(t *testing.T, dir string) {
			path, other := only(t, dir), filepath.Join(t.TempDir(), "other")
			if err := os.Rename(path, other); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(other, path); err != nil {
				t.Fatal(err)
			}
		}, "a", 0},
		"HardLink": {"a file with another name is not resumed", func(t *testing.T, dir string) {
			if err := os.Link(only(t, dir), filepath.Join(t.TempDir(), "other")); err != nil {
				t.Fatal(err)
			}
		}, "a", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			keep(t, begun(t, dir, "a", "begun"))
			if !fsx.IsTemporary(filepath.Base(only(t, dir))) {
				t.Error("its name is not that of a temporary file")
			}
			tc.between(t, dir)
			if got := sizeOf(t, dir, tc.key); got != tc.want {
				t.Errorf("%s: got %d bytes, want %d", tc.reason, got, tc.want)
			}
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
	f, err := fsx.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// If two open files have the same key, Keep does not keep the second.
func TestResumeTwice(t *testing.T) {
	dir := t.TempDir()
	first := begun(t, dir, "a", "first")
	second := begun(t, dir, "a", "the second")
	if ok, err := second.Keep(); ok || err != nil {
		t.Errorf("the second: got %v, %v", ok, err)
	}
	path := filepath.Join(dir, "done")
	if err := first.Commit(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if ok, err := first.Keep(); ok || err != nil {
		t.Errorf("once committed: got %v, %v", ok, err)
	}
	if got, err := os.ReadFile(only(t, dir)); err != nil || string(got) != "first" {
		t.Errorf("got %q, %v", got, err)
	}
}

// If Keep is not called, Close removes the file.
func TestResumeClosed(t *testing.T) {
	dir := t.TempDir()
	if err := begun(t, dir, "a", "x").Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := fsx.Resume(filepath.Join(dir, "none"), "a"); err == nil {
		t.Error("got no error for a missing directory")
	}
}
