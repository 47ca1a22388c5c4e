package e2e

import (
	"archive/tar"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"
)

// ShortDir returns a new directory that all users can read, whose path is short enough for unix
// sockets. The end of the test removes it.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir := Must(os.MkdirTemp("", "t"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// Glob returns the paths that match a pattern. It stops the test if there are none.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths := Must(filepath.Glob(pattern))(t)
	if len(paths) == 0 {
		t.Fatalf("no file matches %q", pattern)
	}
	return paths
}

// ReadFile returns the text of the file at a path.
func ReadFile(t testing.TB, elem ...string) string {
	t.Helper()
	return string(Must(os.ReadFile(filepath.Join(elem...)))(t))
}

// WriteFile writes a file, and creates its folder. A text that begins with "-> " is the target of a
// symbolic link.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	path = filepath.FromSlash(path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if target, isLink := strings.CutPrefix(text, "-> "); isLink {
		err = errors.Join(err, os.Symlink(target, path))
	} else {
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o644))
	}
	NoError(t, err)
}

// WriteFiles writes files, by their paths in dir, as WriteFile does.
func WriteFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		WriteFile(t, filepath.Join(dir, name), text)
	}
}

// Dir returns a new directory with files, as WriteFiles writes them.
func Dir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	WriteFiles(t, dir, files)
	return dir
}

// Memory returns a file system in memory with files.
func Memory(t testing.TB, files map[string]string) afero.Fs {
	t.Helper()
	fsys := afero.NewMemMapFs()
	for name, text := range files {
		NoError(t, afero.WriteFile(fsys, name, []byte(text), 0o644))
	}
	return fsys
}

// Tar returns the headers and the texts of the entries of a tar, and closes it at the end.
func Tar(t testing.TB, r io.Reader) iter.Seq2[*tar.Header, string] {
	return func(yield func(*tar.Header, string) bool) {
		t.Helper()
		if c, ok := r.(io.Closer); ok {
			defer c.Close()
		}
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			NoError(t, err)
			if !yield(h, string(Must(io.ReadAll(tr))(t))) {
				return
			}
		}
	}
}

// Untar returns a new directory with the files of a tar.
func Untar(t testing.TB, path string) string {
	t.Helper()
	files := map[string]string{}
	for h, text := range Tar(t, Must(os.Open(path))(t)) {
		if h.Typeflag == tar.TypeReg {
			files[h.Name] = text
		}
	}
	return Dir(t, files)
}

// Names returns the sorted names of the entries of a directory.
func Names(t testing.TB, dir string) (all []string) {
	t.Helper()
	for _, e := range Must(os.ReadDir(dir))(t) {
		all = append(all, e.Name())
	}
	return all
}

// Empty fails the test for each entry of a directory.
func Empty(t testing.TB, dir string) {
	t.Helper()
	for _, name := range Names(t, dir) {
		t.Errorf("%q was left behind", name)
	}
}
