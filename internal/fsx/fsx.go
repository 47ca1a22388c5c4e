package fsx

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

var errLinks = errors.New("too many levels of symbolic links")

// Cause returns the error that an *fs.PathError or *os.LinkError wraps, without the
// operation and the path. It names a loop of links without the function of Go that found it. It
// returns other errors unchanged.
func Cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	if err != nil && err.Error() == "EvalSymlinks: too many links" { // Package filepath has no value for it.
		return errLinks
	}
	return err
}

// A LockMode is SharedLock or ExclusiveLock.
type LockMode bool

// The modes of a lock.
const (
	// SharedLock allows other shared locks of the same file, but no exclusive lock.
	SharedLock LockMode = false
	// ExclusiveLock allows no other lock of the same file.
	ExclusiveLock LockMode = true
)

// TryLock locks f until f is closed. On Windows, f must be open for writing. TryLock does
// not wait. ok is false if the same file, opened separately by this or another process, has
// a lock that excludes the requested one.
func TryLock(f *os.File, mode LockMode) (ok bool, err error) { return try(f, mode) }

// Unlock releases the lock of f, and closes f. Close alone may release it later: a process that
// is being started has a copy of each open file until it executes its program.
func Unlock(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// IsAt reports whether path is still a name of the open file f. Callers must check this
// after they lock a file that other processes may remove.
func IsAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// Relative returns the path from dir to path. Each may be absolute or relative to the working directory.
// filepath.Rel fails for one of each, and for a path below "..".
func Relative(dir, path string) (string, error) {
	absDir, dirErr := filepath.Abs(dir)
	abs, err := filepath.Abs(path)
	if err := cmp.Or(dirErr, err); err != nil {
		return "", err
	}
	return filepath.Rel(absDir, abs)
}

// IsWithin reports whether path is dir or in it. It follows no links.
func IsWithin(dir, path string) bool {
	rel, err := Relative(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Parents returns dir and the directories above it, up to the root. Their paths are relative if dir
// is.
func Parents(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		abs, err := filepath.Abs(dir)
		for at := dir; err == nil && yield(at) && abs != filepath.Dir(abs); at = filepath.Join(at, "..") {
			abs = filepath.Dir(abs)
		}
	}
}

// FindUp returns the path of the regular file called name in the nearest of Parents(dir), or "".
func FindUp(dir, name string) string {
	for at := range Parents(dir) {
		path := filepath.Join(at, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// Glob returns the paths of files in dir that match a pattern of package path, sorted. Unlike in
// filepath.Glob, dir may have the characters of patterns, such as brackets.
func Glob(dir, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(cmp.Or(dir, ".")), pattern)
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found, err
}

// Touch sets the modification time of a file or folder, which says when it was used last.
func Touch(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// AfterAllUse returns a time after the last use of every file, even if a clock was wrong.
func AfterAllUse() time.Time { return time.Unix(1<<40, 0) }

// Closers are closed together. The zero value is empty. Closers are safe for concurrent use.
type Closers struct {
	mu  sync.Mutex
	all []io.Closer
}

// Add registers c, so that Close closes it.
func (cs *Closers) Add(c io.Closer) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.all = append(cs.all, c)
}

// Close closes all in reverse order. Further calls do nothing.
func (cs *Closers) Close() error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(cs.all) {
		errs = append(errs, c.Close())
	}
	cs.all = nil
	return errors.Join(errs...)
}

// RemoveAll removes the file called name in dir or, if it is a directory, the directory and
// its contents. It removes directories even if their permissions forbid it. It does not
// follow symbolic links. It returns nil if the file does not exist.
func RemoveAll(dir *os.Root, name string) error {
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, statErr := dir.Lstat(name)
	if statErr != nil || !info.IsDir() {
		return err
	}
	if err := dir.Chmod(name, 0o700); err != nil {
		return err
	}
	if err := removeContent(dir, name); err != nil {
		return err
	}
	return dir.Remove(name)
}

func removeContent(parent *os.Root, name string) (err error) {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := ReadNames(dir)
	for _, n := range names {
		if err != nil {
			return err
		}
		err = RemoveAll(dir, n)
	}
	return err
}

// ReadNames returns the names of the files in dir, in no particular order.
func ReadNames(dir *os.Root) (names []string, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}
