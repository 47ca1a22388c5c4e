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
	// kept is how long Create keeps a file for Resume.
	kept = 24 * time.Hour
)

// Resume is Create for a file that can be finished later. It returns the file
// with this key and unverified contents that Keep or a killed process left. The
// file is empty if there is none, if another process is writing it, and always
// on Windows.
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

// resume opens or creates a file. It rejects files that other users can write,
// since the name can be guessed.
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

// isOwn reports whether only this user can write f, and path is its name and
// not a link.
func isOwn(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil || !open.Mode().IsRegular() || open.Mode().Perm()&0o077 != 0 || !isMine(open) {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// isFresh reports whether a file is not too old to be resumed.
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

// Keep closes a file of Resume that was not committed, and keeps it for a day.
// It removes any other file and returns false.
func (f *AtomicFile) Keep() (bool, error) {
	if !f.resumable || f.closed || f.committed {
		return false, f.Close()
	}
	f.closed = true
	return true, Cause(f.f.Close())
}
