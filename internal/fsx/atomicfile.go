package fsx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxLinks is how many links may lead to a file, as on Linux.
const maxLinks = 40

// Write calls write with a temporary file in path's directory. If write
// returns nil, the file is synced, given mode perm whatever the umask, and
// renamed to path; otherwise it is removed and path stays as it was. A path
// that is a symbolic link keeps being one: its target is replaced, or made.
//
// What is there and no regular file, such as a device or a pipe, cannot be
// replaced: it is opened and written to as it is.
//
// A process that is killed leaves path as it was, and may leave a file beside
// it, ".xfn-*.tmp", until somebody calls Create there. Windows replaces no file
// that is open in any process, this one included: there, Write fails and path
// stays as it was.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return writeInto(path, write)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finding %q: %w", path, cause(err))
	}
	return replace(target(path), perm, write)
}

// TemporaryDir returns the directory in which Write makes the file that becomes path. It
// is false for what Write writes into: a device or a pipe.
func TemporaryDir(path string) (string, bool) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", false
	}
	return filepath.Dir(target(path)), true
}

// target returns where the links at path lead to, whether a file is there or
// not. Names are left to the system to resolve: "a/.." is not "." if a is a
// link.
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
		return fmt.Errorf("opening %q: %w", path, cause(err))
	}
	defer func() {
		if e := f.Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("closing %q: %w", path, cause(e)))
		}
	}()
	return write(unnamed{f})
}

func replace(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	dir, _ := filepath.Split(path)
	f, err := create(dir)
	if err != nil {
		return fmt.Errorf("creating a file beside %q: %w", path, cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit(path, perm)
}

// An unnamed file's errors leave its name out, which the caller did not choose.
type unnamed struct{ f *os.File }

func (u unnamed) Write(p []byte) (int, error) {
	n, err := u.f.Write(p)
	return n, cause(err)
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

// cause returns what the system said, without the name of a temporary file.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
