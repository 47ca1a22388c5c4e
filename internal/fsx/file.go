package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// A File is a temporary file that becomes another by Commit, or is removed.
// Errors leave its name out, which the caller did not choose. Writing may not go
// on beside other writing; several goroutines may read at once, and beside it.
type AtomicFile struct {
	f         *os.File
	started   int64 // up to where the disk has been told to write
	committed bool
	closed    bool
	resumable bool
}

var _ interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
} = (*AtomicFile)(nil)

// writeback is how much of a file is written before the disk is told to write it,
// in bytes.
const writeback = 16 << 20

// named is what the name of a temporary file looks like, and of one that Resume
// makes. Nobody else's file is taken for one.
var named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.xfn-[a-z2-7]{26}\.(tmp|part)$`) })

// IsTemporary reports whether a file of this name, without its directory, is one
// that is still to become another: for those who read a directory that somebody
// may be writing to.
func IsTemporary(name string) bool { return named().MatchString(name) }

// Create makes a temporary file in a directory, which has to be closed. It
// removes others there that a killed process left behind, except on Windows,
// where a file cannot be renamed while it is locked. Those of processes that
// are alive stay, and those for Resume do for a day.
func Create(dir string) (*AtomicFile, error) {
	sweep(dir)
	f, err := create(dir)
	if err != nil {
		return nil, fmt.Errorf("creating a file in %q: %w", dir, cause(err))
	}
	return f, nil
}

// create makes and locks a file. The loop is for a process that sweeps between
// the two.
func create(dir string) (*AtomicFile, error) {
	for {
		path := filepath.Join(dir, ".xfn-"+strings.ToLower(rand.Text())+".tmp")
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		if runtime.GOOS == "windows" {
			return &AtomicFile{f: f}, nil
		}
		// A file system without locks has none for those who sweep, either.
		if free, err := TryLock(f, ExclusiveLock); (free || err != nil) && IsAt(f, path) {
			return &AtomicFile{f: f}, nil
		}
		_ = f.Close()
	}
}

// sweep removes what nobody writes any more. A file that cannot be removed does
// not matter.
func sweep(dir string) {
	if runtime.GOOS == "windows" {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if IsTemporary(e.Name()) && e.Type().IsRegular() && !isFresh(e) {
			removeLeft(filepath.Join(dir, e.Name()))
		}
	}
}

func removeLeft(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if free, err := TryLock(f, ExclusiveLock); free && err == nil && IsAt(f, path) {
		_ = os.Remove(path)
	}
}

// Write writes at the file's position.
func (f *AtomicFile) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	return n, cause(err)
}

// WriteAt writes at an offset.
func (f *AtomicFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.f.WriteAt(p, off)
	if end := off + int64(n); end-f.started >= writeback {
		f.startWriteback(f.started, end)
		f.started = end
	}
	return n, cause(err)
}

// ReadAt reads at an offset.
func (f *AtomicFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(p, off)
	return n, cause(err)
}

// Truncate changes the file's size.
func (f *AtomicFile) Truncate(size int64) error { return cause(f.f.Truncate(size)) }

// Commit syncs the file, gives it mode perm whatever the umask, and renames it
// to path, which it replaces, if it is in the same file system. A path that is
// a symbolic link keeps being one, as for Write. What the file holds can be
// read until it is closed, except on Windows.
func (f *AtomicFile) Commit(path string, perm fs.FileMode) error {
	if err := f.f.Chmod(perm); err != nil {
		return fmt.Errorf("setting the mode of %q: %w", path, cause(err))
	}
	if err := f.f.Sync(); err != nil {
		return fmt.Errorf("syncing %q: %w", path, cause(err))
	}
	if runtime.GOOS == "windows" {
		f.closed = true
		if err := f.f.Close(); err != nil {
			return errors.Join(fmt.Errorf("closing %q: %w", path, cause(err)), f.remove())
		}
	}
	if err := os.Rename(f.f.Name(), target(path)); err != nil {
		err = fmt.Errorf("moving the finished file to %q: %w", path, cause(err))
		if f.closed {
			err = errors.Join(err, f.remove())
		}
		return err
	}
	f.committed = true
	return nil
}

// Close closes the file, and removes it if it was not committed. It may be
// called again.
func (f *AtomicFile) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	// Removed while it is locked, it is not another's for a moment.
	var err error
	if !f.committed && runtime.GOOS != "windows" {
		err = f.remove()
	}
	err = errors.Join(err, cause(f.f.Close()))
	if !f.committed && runtime.GOOS == "windows" {
		err = errors.Join(err, f.remove())
	}
	return err
}

func (f *AtomicFile) remove() error {
	if err := os.Remove(f.f.Name()); err != nil {
		return fmt.Errorf("removing a temporary file: %w", err)
	}
	return nil
}
