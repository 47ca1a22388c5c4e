package fsx_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// If this variable is set, the test binary is a child process that writes half
// of a file to the path in the variable, prints a line, and waits to be killed.
const childEnv = "ATOMICFILE_TEST_CHILD"

func TestWrite(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		reason, before string
		write          func(io.Writer) error
		want           string
		err            error
	}{
		"New":         {"a new file has the written content", "", text("new"), "new", nil},
		"Replace":     {"an old file is replaced", "old", text("new"), "new", nil},
		"Failed":      {"a failed write leaves the old file", "old", func(w io.Writer) error { _ = text("half")(w); return broken }, "old", broken},
		"FailedFirst": {"a failed write leaves no new file", "", func(io.Writer) error { return broken }, "", broken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if tc.before != "" {
				put(t, path, tc.before)
			}
			e2e.ErrorIs(t, tc.reason, fsx.Write(path, 0o640, tc.write), tc.err)
			e2e.Equal(t, tc.reason, tc.want, get(t, path))
			if n := entries(t, filepath.Dir(path)); tc.want != "" && n != 1 || tc.want == "" && n != 0 {
				t.Errorf("%s: %d files are left", tc.reason, n)
			}
		})
	}
}

// A file that is not synced is whole, too, and replaces the target of a link.
func TestWriteCached(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	put(t, path, "old")
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err)
	}
	e2e.NoError(t, fsx.WriteCached(link, 0o640, []byte("new")))
	if got := get(t, path); got != "new" || entries(t, dir) != 2 {
		t.Errorf("got %q and %d files, want the new text and two files", got, entries(t, dir))
	}
}

// A file can be replaced while it is read, and each reader gets whole content.
func TestReplaceWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "content")
	ctx, stop := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reader.Go(func() {
		for ctx.Err() == nil {
			// Windows refuses to open a file while it is replaced.
			if data, err := os.ReadFile(path); err == nil && string(data) != "content" || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %q, %v, want the content", data, err)
				return
			}
		}
	})
	for range 20 {
		if err := fsx.WriteFile(path, 0o600, []byte("content")); err != nil {
			t.Error(err)
		}
	}
	stop()
	reader.Wait()
}

func TestMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	for _, tc := range []struct {
		reason          string
		old, perm, want fs.FileMode
	}{
		{"a new file has the mode that is asked for, whatever the umask", 0, 0o666, 0o666},
		{"others cannot read the new content of a file that they could not read", 0o600, 0o666, 0o600},
		{"a file that others could read can become private", 0o644, 0o600, 0o600},
		{"a file can become a program", 0o640, 0o755, 0o751},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if tc.old != 0 {
			put(t, path, "old")
			e2e.NoError(t, os.Chmod(path, tc.old))
		}
		e2e.NoError(t, fsx.WriteFile(path, tc.perm, []byte("x")))
		e2e.Equal(t, tc.reason, tc.want, e2e.Must(os.Stat(path))(t).Mode().Perm())
	}
}

func TestLinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	put(t, target, "old")
	if err := os.Symlink("target", link); err != nil {
		t.Skipf("this system cannot create links: %v", err)
	}
	e2e.NoError(t, fsx.WriteFile(link, 0o644, []byte("new")))
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	e2e.Equal(t, "the target of the link has the new content", "new", get(t, target))
}

func TestNoDirectory(t *testing.T) {
	err := fsx.WriteFile(filepath.Join(t.TempDir(), "absent", "f"), 0o644, nil)
	e2e.ErrorIs(t, "a file in a missing directory is an error", err, fs.ErrNotExist)
}

func TestKilledWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "old")
	child, line := e2e.Start(t, childEnv+"="+path)
	e2e.Equal(t, "the child stops in the middle of the write", "half", line)
	child.Kill(t)
	e2e.Equal(t, "the file has the old content after a kill", "old", get(t, path))
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func put(t *testing.T, path, text string) {
	t.Helper()
	e2e.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func get(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	return len(e2e.Must(os.ReadDir(dir))(t))
}
