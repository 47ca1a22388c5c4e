package fsx

import (
	"crypto/sha256"
	"encoding/base32"
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
	// kept is how long Create keeps a file that Resume can return.
	kept = 24 * time.Hour
)

// Resume is Create for a file that another process can finish later. key identifies the
// file. If Keep or a killed process left a file with this key, Resume returns it; its
// contents are not verified. Otherwise, and always on Windows, it returns an empty file. The
// file is also empty if another process is writing the one that was left.
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

// resume opens or creates the file at path. It returns nil if another process has locked the
// file, or if other users can write it: they can guess its name.
func resume(path string) (*AtomicFile, error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := TryLock(f, ExclusiveLock)
	if err != nil || !free || !isOwn(f, path) {
		return nil, f.Close()
	}
	return &AtomicFile{f: f, resumable: true}, nil
}

// isOwn reports whether only this user can write f, and whether path is a name of f and not
// a symbolic link.
func isOwn(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil || !open.Mode().IsRegular() || open.Mode().Perm()&0o077 != 0 || !isMine(open) {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// isFresh reports whether a file is young enough to be resumed.
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

// Keep closes the file and keeps it for Resume, for a day, and returns true. If the file is
// not from Resume, or is committed or closed, Keep calls Close and returns false.
func (f *AtomicFile) Keep() (bool, error) {
	if !f.resumable || f.closed || f.committed {
		return false, f.Close()
	}
	f.closed = true
	return true, Cause(f.f.Close())
}
