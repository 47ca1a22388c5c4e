package fsx

import "os"

// A LockMode says whether a lock is shared.
type LockMode bool

// The modes of a lock.
const (
	// SharedLock is compatible with other shared locks.
	SharedLock LockMode = false
	// ExclusiveLock is compatible with no other lock.
	ExclusiveLock LockMode = true
)

// TryLock locks f, which has to be open for writing on Windows, until it is
// closed. It does not wait: ok is false if another open file, of this process
// or another, has an incompatible lock.
func TryLock(f *os.File, mode LockMode) (ok bool, err error) { return try(f, mode) }

// IsAt reports whether path is still the name of f. Check it after locking a
// file that other processes may remove.
func IsAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}
