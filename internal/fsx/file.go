package fsx

import (
	"cmp"
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

// An AtomicFile is a temporary file. Commit renames it to its final path. If Commit is not
// called, Close removes it. Errors do not contain the temporary name. Writes must not be
// concurrent. Reads may be concurrent with each other and with a write.
type AtomicFile struct {
	f *os.File
	// started is the offset up to which the system was told to write the file to the disk.
	started   int64
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

// writeback is the number of bytes after which the system is told to begin writing them to
// the disk.
const writeback = 16 << 20

// named matches the names of temporary files that Create and Resume create, and no names of
// files of other programs.
var named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.xfn-[a-z2-7]{26}\.(tmp|part)$`) })

// IsEditorFile reports whether name is the name of a temporary file of Vim or Emacs.
func IsEditorFile(name string) bool {
	ext := filepath.Ext(name)
	return strings.HasSuffix(name, "~") || strings.HasPrefix(name, ".#") || name == "4913" ||
		strings.HasPrefix(name, ".") && len(ext) == len(".swp") && strings.HasPrefix(ext, ".sw")
}

// IsTemporary reports whether name, without a directory, is the name of a temporary
// file. Programs that list a directory can use it to skip unfinished files.
func IsTemporary(name string) bool { return named().MatchString(name) }

// Create creates a temporary file in dir. Callers must close it. Create also removes
// temporary files that killed processes left in dir. It keeps files that Resume can return
// until they are a day old. On Windows it removes no files, because temporary files are not
// locked there: Windows cannot rename a locked file.
func Create(dir string) (*AtomicFile, error) {
	sweep(dir)
	f, err := create(dir)
	if err != nil {
		return nil, fmt.Errorf("creating a file in %q: %w", dir, Cause(err))
	}
	return f, nil
}

// create creates and locks a temporary file. If another process removes the file before it
// is locked, create tries again with another name.
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
		// Without support for locks in the file system, other processes do not remove the file.
		if free, err := TryLock(f, ExclusiveLock); (free || err != nil) && IsAt(f, path) {
			return &AtomicFile{f: f}, nil
		}
		_ = f.Close()
	}
}

// sweep removes temporary files in dir that no process is writing and Resume cannot return.
// It ignores errors.
func sweep(dir string) {
	if runtime.GOOS == "windows" {
		return
	}
	entries, _ := os.ReadDir(cmp.Or(dir, "."))
	for _, e := range entries {
		if IsTemporary(e.Name()) && e.Type().IsRegular() && !isFresh(e) {
			removeLeft(filepath.Join(dir, e.Name()))
		}
	}
}

// swept has the absolute paths of the directories that sweepOnce has swept.
var swept sync.Map

// sweepOnce calls sweep for the first file that this process writes in dir. Sweeping for
// each of a thousand files would read the directory a thousand times.
func sweepOnce(dir string) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	if _, done := swept.LoadOrStore(path, true); !done {
		sweep(dir)
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

// Write writes p at the current offset of the file.
func (f *AtomicFile) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	return n, Cause(err)
}

// WriteAt writes p at the offset off. An error names the directory, because callers do not know the
// temporary file.
func (f *AtomicFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.f.WriteAt(p, off)
	if end := off + int64(n); end-f.started >= writeback {
		f.startWriteback(f.started, end)
		f.started = end
	}
	if err != nil {
		err = fmt.Errorf("writing a file in %q: %w", filepath.Dir(f.f.Name()), Cause(err))
	}
	return n, err
}

// ReadAt reads from the offset off.
func (f *AtomicFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(p, off)
	return n, Cause(err)
}

// Truncate changes the file's size.
func (f *AtomicFile) Truncate(size int64) error { return Cause(f.f.Truncate(size)) }

// Commit syncs the file, sets its mode to perm regardless of the umask, and renames it to
// path. If path is a symbolic link, Commit renames the file to the target of the link.
// Except on Windows, the file can be read until Close.
func (f *AtomicFile) Commit(path string, perm fs.FileMode) error {
	return f.commit(path, perm, true)
}

func (f *AtomicFile) commit(path string, perm fs.FileMode, sync bool) error {
	if err := f.f.Chmod(perm); err != nil {
		return fmt.Errorf("setting the mode of %q: %w", path, Cause(err))
	}
	if sync {
		if err := f.f.Sync(); err != nil {
			return fmt.Errorf("syncing %q: %w", path, Cause(err))
		}
	}
	if runtime.GOOS == "windows" {
		f.closed = true
		if err := f.f.Close(); err != nil {
			return errors.Join(fmt.Errorf("closing %q: %w", path, Cause(err)), f.remove())
		}
	}
	if err := rename(f.f.Name(), target(path)); err != nil {
		err = fmt.Errorf("moving the finished file to %q: %w", path, Cause(err))
		if f.closed {
			err = errors.Join(err, f.remove())
		}
		return err
	}
	f.committed = true
	return nil
}

// Close closes the file, and removes it unless it was committed. Further calls do nothing.
func (f *AtomicFile) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	// Remove the file before it is unlocked. Otherwise another process could lock and use it.
	var err error
	if !f.committed && runtime.GOOS != "windows" {
		err = f.remove()
	}
	err = errors.Join(err, Cause(f.f.Close()))
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

// ReadFile reads a file of at most limit bytes. Its errors do not name the file.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Cause(err)
	}
	defer func() { _ = f.Close() }() // An error of closing a file that was only read does not matter.
	return ReadAll(f, limit)
}

// ReadAll reads at most limit bytes. More are an error.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch n := int64(len(data)); {
	case err != nil:
		return nil, Cause(err)
	case n > limit && limit < 1<<20:
		return nil, fmt.Errorf("the file is larger than %d KiB", limit>>10)
	case n > limit:
		return nil, fmt.Errorf("the file is larger than %d MiB", limit>>20)
	}
	return data, nil
}
