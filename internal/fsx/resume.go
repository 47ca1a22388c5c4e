package fsx

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	resumable = ".part"
	// kept is how long Create and Resume keep a file that Resume can return.
	kept = 24 * time.Hour
)

// Resume is like Create, for a file that another process can continue later. key identifies
// the file. If Keep or a killed process left a file with this key, Resume returns that
// file; its contents are not verified. Otherwise it returns an empty file. It also returns
// an empty file if another process is writing the file with this key, and always on
// Windows.
func Resume(dir, key string) (*AtomicFile, error) {
	sweep(dir)
	f, err := resume(filepath.Join(dir, nameOf(key)))
	if f == nil {
		f, err = create(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("creating a file in %q: %w", dir, Cause(err))
	}
	return f, nil
}

func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return ".xfn-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26] + resumable
}

// resume opens or creates the file at path. It returns nil if another process has locked
// the file, or if other users can write to it. They could have created it, because its name
// can be guessed.
func resume(path string) (*AtomicFile, error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := TryLock(f, ExclusiveLock)
	if err != nil || !free {
		return nil, f.Close()
	}
	if !isOwn(f, path) {
		return nil, errors.Join(removeWritable(f, path), f.Close())
	}
	// Commit has changed the mode if the process was killed before the file was renamed.
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &AtomicFile{f: f, resumable: true}, nil
}

// removeWritable removes a file of this user that others can write, such as one whose process
// was killed after Commit had set a mode like 0664. Others may have changed its content.
func removeWritable(f *os.File, path string) error {
	open, err := f.Stat()
	if err != nil || !isMine(open) {
		return nil
	}
	if named, err := os.Lstat(path); err != nil || !os.SameFile(open, named) {
		return nil
	}
	return os.Remove(path)
}

// isOwn reports whether f belongs to this user and only this user can write to it. path must
// be a name of f, and not a symbolic link.
func isOwn(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil || !open.Mode().IsRegular() || open.Mode().Perm()&0o022 != 0 || !isMine(open) {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// isFresh reports whether Resume can return the file and it was changed within the last
// day.
func isFresh(e fs.DirEntry) bool {
	if !strings.HasSuffix(e.Name(), resumable) {
		return false
	}
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) < kept
}

// Size returns the size of the file in bytes.
func (f *AtomicFile) Size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, Cause(err)
	}
	return info.Size(), nil
}

// Keep closes the file and keeps it for a day, so that Resume can return it. If the file is
// not from Resume, or is already committed or closed, Keep calls Close and returns false.
func (f *AtomicFile) Keep() (bool, error) {
	if !f.resumable || f.closed || f.committed {
		return false, f.Close()
	}
	f.closed = true
	return true, Cause(f.f.Close())
}
