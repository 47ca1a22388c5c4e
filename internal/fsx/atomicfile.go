package fsx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
)

// maxLinks limits the number of symbolic links that are followed, as Linux does.
const maxLinks = 40

// Write calls write with a temporary file in the directory of path. If write returns nil,
// the file is synced, its mode is set to perm regardless of the umask, and it is renamed to
// path. It gets no permission to read or write that an existing file does not have. If path is
// a symbolic link, the file is renamed to the target of the link. If write fails, the file is
// removed. If path is a device or a pipe, or names a file that is open, as /dev/stdout does,
// write writes to it directly.
//
// If the process is killed, a file ".xfn-*.tmp" may remain beside path until another
// process calls Write or Create for the directory. On Windows, Write fails if any process
// has path open.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	return replace(path, perm, write, true)
}

// replace implements Write. Without sync, it does not sync the file.
func replace(path string, perm fs.FileMode, write func(io.Writer) error, sync bool) (err error) {
	info, err := os.Stat(path)
	if fd, isOpen := descriptor(path); err == nil && isOpen {
		return writeInto(path, write, func() (*os.File, error) { return duplicate(fd, path) })
	}
	if err == nil && !info.Mode().IsRegular() {
		return writeInto(path, write, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finding %q: %w", path, Cause(err))
	}
	if err == nil {
		perm &= info.Mode().Perm() | 0o111
	}
	path = target(path)
	dir, _ := filepath.Split(path)
	sweepOnce(dir)
	f, err := create(dir)
	if err != nil {
		return fmt.Errorf("creating a file beside %q: %w", path, Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return err
	}
	return f.commit(path, perm, sync)
}

// TemporaryDir returns the directory in which Write creates the temporary file for path.
// The bool is false if Write writes to path directly.
func TemporaryDir(path string) (string, bool) {
	if _, isOpen := descriptor(path); isOpen {
		return "", false
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", false
	}
	return filepath.Dir(target(path)), true
}

// target returns the path to which the symbolic links at path lead, even if no file exists there.
func target(path string) string {
	for path = range links(path) {
	}
	return path
}

// descriptor returns the number of an open file of this process that path names, as /dev/stdout,
// /dev/fd/1 and /proc/self/fd/1 do.
func descriptor(path string) (int, bool) {
	for path := range links(path) {
		dir, file := filepath.Split(path)
		if fd, err := strconv.Atoi(file); err == nil && (dir == "/dev/fd/" || dir == "/proc/self/fd/") {
			return fd, true
		}
	}
	return 0, false
}

// links returns path, and the path to which each symbolic link leads. It does not clean the paths,
// because "a/.." is not "." if a is a symbolic link.
func links(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range maxLinks {
			if !yield(path) {
				return
			}
			to, err := os.Readlink(path)
			if err != nil {
				return
			}
			if !filepath.IsAbs(to) {
				dir, _ := filepath.Split(path)
				to = dir + to
			}
			path = to
		}
	}
}

func writeInto(path string, write func(io.Writer) error, open func() (*os.File, error)) (err error) {
	f, err := open()
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
	return Write(path, perm, writerOf(path, data))
}

// WriteInDir writes data to path as WriteFile does. It creates the directory of the file first.
func WriteInDir(path string, perm fs.FileMode, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating the directory %q: %w", filepath.Dir(path), Cause(err))
	}
	return WriteFile(path, perm, data)
}

// WriteCached writes data to path as Write does, but does not sync the file: after a crash of
// the machine it may be empty. It is for files that can be generated again, because a sync can
// take longer than generating the file.
func WriteCached(path string, perm fs.FileMode, data []byte) error {
	return replace(path, perm, writerOf(path, data), false)
}

func writerOf(path string, data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		return nil
	}
}
