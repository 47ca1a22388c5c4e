package fsx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks limits the number of symbolic links that are followed in a chain, as on Linux.
const maxLinks = 40

// Write calls write with a temporary file in path's directory. If write returns
// nil, the file is synced, given mode perm whatever the umask, and renamed to
// path, or to its target if it is a symbolic link. Otherwise it is removed.
// Devices and pipes are opened and written directly.
//
// If the process is killed, a file ".xfn-*.tmp" may remain beside path until
// Create is called for the directory. On Windows Write fails if any process has
// path open.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return writeInto(path, write)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finding %q: %w", path, Cause(err))
	}
	path = target(path)
	dir, _ := filepath.Split(path)
	f, err := create(dir)
	if err != nil {
		return fmt.Errorf("creating a file beside %q: %w", path, Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit(path, perm)
}

// TemporaryDir returns the directory in which Write creates the temporary file for path. It
// returns false for a device or a pipe, which Write opens directly.
func TemporaryDir(path string) (string, bool) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", false
	}
	return filepath.Dir(target(path)), true
}

// target returns the path that the symbolic links at path lead to. No file need exist there.
// It lets the system resolve names: "a/.." is not "." if a is a symbolic link.
func target(path string) string {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(path)
			to = dir + to
		}
		path = to
	}
	return path
}

func writeInto(path string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("opening %q: %w", path, Cause(err))
	}
	defer func() {
		if e := f.Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("closing %q: %w", path, Cause(e)))
		}
	}()
	return write(&AtomicFile{f: f})
}

// WriteFile writes data to path as Write does.
func WriteFile(path string, perm fs.FileMode, data []byte) error {
	return Write(path, perm, func(w io.Writer) error {
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		return nil
	})
}
