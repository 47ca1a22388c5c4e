package fsx_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

func create(t *testing.T, dir string) *fsx.AtomicFile {
	t.Helper()
	return e2e.Open(fsx.Create(dir))(t)
}

// If the final name is chosen only at Commit, the file at that name is complete
// or does not exist.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	put(t, path, "old")
	f := create(t, dir)
	e2e.NoError(t, e2e.Err(f.WriteAt([]byte("wide"), 4)))
	e2e.NoError(t, e2e.Err(f.Write([]byte("new "))))
	e2e.NoError(t, f.Truncate(7))
	e2e.Equal(t, "the old file stays until Commit", "old", get(t, path))
	e2e.NoError(t, f.Commit(path, 0o640))
	e2e.NoError(t, f.Close())
	e2e.Equal(t, "Commit replaces the old file with the new content", "new wid", get(t, path))
	e2e.Equal(t, "the number of files", 1, entries(t, dir))
}

func TestCreateAndClose(t *testing.T) {
	dir := t.TempDir()
	f := create(t, dir)
	for range 2 {
		e2e.NoError(t, f.Close())
	}
	e2e.Equal(t, "the number of files", 0, entries(t, dir))
}

// If Commit cannot replace the target, only the temporary file is removed.
func TestCommitFails(t *testing.T) {
	dir := t.TempDir()
	e2e.NoError(t, os.MkdirAll(filepath.Join(dir, "taken", "full"), 0o755))
	f := create(t, dir)
	err := f.Commit(filepath.Join(dir, "taken"), 0o644)
	if err == nil || !strings.Contains(err.Error(), "taken") || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("got %v, want an error that names the target alone", err)
	}
	e2e.NoError(t, f.Close())
	e2e.Equal(t, "the number of files", 1, entries(t, dir))
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	if got, ok := fsx.TemporaryDir(filepath.Join(dir, "f")); !ok || got != dir {
		t.Errorf("a new file: got %q, %v", got, ok)
	}
	if got, ok := fsx.TemporaryDir("f"); !ok || got != "." {
		t.Errorf("a bare name: got %q, %v", got, ok)
	}
	if got, ok := fsx.TemporaryDir(os.DevNull); ok {
		t.Errorf("a device: got %q", got)
	}
}

// Create removes the temporary files that killed processes left in the
// directory, and no other files.
func TestCreateAfterKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("temporary files are not locked there")
	}
	dir := t.TempDir()
	others := []string{".xfn-project.tmp", ".xfn-" + strings.Repeat("a", 26) + ".tmp.txt"}
	for _, name := range others {
		put(t, filepath.Join(dir, name), "kept")
	}
	link := ".xfn-" + strings.Repeat("b", 26) + ".tmp"
	e2e.NoError(t, os.Symlink(others[0], filepath.Join(dir, link)))
	child, line := e2e.Start(t, childEnv+"="+filepath.Join(dir, "f"))
	e2e.Equal(t, "the child stops in the middle of the write", "half", line)
	const kept = 3
	e2e.NoError(t, create(t, dir).Close())
	e2e.Equal(t, "Create keeps the file of a running process", kept+1, entries(t, dir))
	child.Kill(t)
	e2e.Equal(t, "the killed process leaves its file", kept+1, entries(t, dir))
	e2e.NoError(t, create(t, dir).Close())
	e2e.Equal(t, "Create removes only the file of the killed process", kept, entries(t, dir))
}

// Write removes the temporary files that killed processes left in the directory.
func TestWriteAfterKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("temporary files are not locked there")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	child, _ := e2e.Start(t, childEnv+"="+path)
	child.Kill(t)
	e2e.Equal(t, "the files that a killed process leaves", 1, entries(t, filepath.Dir(path)))
	e2e.NoError(t, fsx.WriteFile(path, 0o644, nil))
	e2e.Equal(t, "the files after the next write", 1, entries(t, filepath.Dir(path)))
}

func TestCause(t *testing.T) {
	_, absent := os.Open("absent")
	other := errors.New("other")
	cases := map[string]struct {
		reason    string
		err, want error
	}{
		"Path":    {"the path and the operation are removed", &fs.PathError{Op: "open", Path: "p", Err: other}, other},
		"Link":    {"the paths of a link are removed", &os.LinkError{Op: "rename", Old: "a", New: "b", Err: other}, other},
		"Wrapped": {"texts around the path are removed", fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "p", Err: other}), other},
		"Other":   {"another error is unchanged", other, other},
		"Nil":     {"nil is unchanged", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fsx.Cause(tc.err); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if os.Symlink("loop", loop) == nil { // Windows may forbid links.
		_, err := filepath.EvalSymlinks(loop)
		e2e.Equal(t, "the cause names the loop of a link to itself", "too many levels of symbolic links", fsx.Cause(err).Error())
	}
	e2e.ErrorIs(t, "the kind of the error is lost", fsx.Cause(absent), fs.ErrNotExist)
}
