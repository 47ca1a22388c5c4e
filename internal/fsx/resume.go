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
	// kept is how long a file waits for Resume before Create removes it.
	kept = 24 * time.Hour
)

// Resume is Create for a file that can be finished later. If one with this key
// is there, as Keep or a process that was killed has left it, that is the file,
// with what was written to it: nobody has checked that. Otherwise, and if another
// process is writing it, the file is new and empty. On Windows it always is.
func Resume(dir, key string) (*AtomicFile, error) {
	sweep(dir)
	f, err := resume(filepath.Join(dir, nameOf(key)))
	if f == nil {
		f, err = create(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("creating a file in %q: %w", dir, cause(err))
	}
	return f, nil
}

// nameOf is the name of the file with this key.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return ".xfn-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26] + resumable
}

// resume opens or makes a file. It returns none that is not this user's alone: its
// name can be guessed.
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

// isOwn says whether f is a file of this user that nobody else may write to, and
// path its name, without a link.
func isOwn(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil || !open.Mode().IsRegular() || open.Mode().Perm()&0o077 != 0 || !isMine(open) {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// isFresh says whether a file that was left may still be resumed.
func isFresh(e fs.DirEntry) bool {
	if !strings.HasSuffix(e.Name(), resumable) {
		return false
	}
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) < kept
}

// Size is how many bytes the file has.
func (f *AtomicFile) Size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, cause(err)
	}
	return info.Size(), nil
}

// Keep closes a file that was not committed, and leaves it to Resume, for a day.
// It reports whether it does: a file that Resume has not made by its key is
// removed.
func (f *AtomicFile) Keep() (bool, error) {
	if !f.resumable || f.closed || f.committed {
		return false, f.Close()
	}
	f.closed = true
	return true, cause(f.f.Close())
}
