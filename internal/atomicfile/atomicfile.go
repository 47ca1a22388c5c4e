package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// maxLinks is how many links may lead to a file, as on Linux.
	maxLinks = 40
	// maxBase is how much of a file's name its temporary file's name holds.
	// Systems take 255 bytes for a name, and some no more than 143.
	maxBase = 100
)

// Write calls write with a temporary file in path's directory. If write
// returns nil, the file is synced, given mode perm whatever the umask, and
// renamed to path; otherwise it is removed and path stays as it was. A path
// that is a symbolic link keeps being one: its target is replaced, or made.
//
// What is there and no regular file, such as a device or a pipe, cannot be
// replaced: it is opened and written to as it is.
//
// A process that is killed leaves path as it was, and may leave a file whose
// name starts with "." and the first bytes of path's, and ends in ".tmp",
// beside it. Windows replaces no file that is open in any process, this one
// included: there, Write fails and path stays as it was.
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
	f, err := beside(path)
	if err != nil {
		return fmt.Errorf("creating a file beside %q: %w", path, cause(err))
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(unnamed{f}); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return fmt.Errorf("setting the mode of %q: %w", path, cause(err))
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("syncing %q: %w", path, cause(err))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("closing %q: %w", path, cause(err))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("moving the finished file to %q: %w", path, cause(err))
	}
	return nil
}

// beside makes a temporary file in path's directory.
func beside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	base = strings.ToValidUTF8(base[:min(len(base), maxBase)], "")
	return os.CreateTemp(dir, "."+base+".*.tmp")
}

// An unnamed file's errors leave its name out, which the caller did not choose.
type unnamed struct{ f *os.File }

func (u unnamed) Write(p []byte) (int, error) {
	n, err := u.f.Write(p)
	return n, cause(err)
}

// WriteBytes writes data to path as Write does.
func WriteBytes(path string, perm fs.FileMode, data []byte) error {
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
