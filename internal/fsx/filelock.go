package fsx

import "os"

// A Mode says who else may have a lock.
type LockMode bool

// The modes of a lock.
const (
	// SharedLock goes with other locks that are Shared.
	SharedLock LockMode = false
	// ExclusiveLock goes with no other lock.
	ExclusiveLock LockMode = true
)

// TryLock locks f, which has to be open for writing on Windows, until it is closed.
// It does not wait: ok is false if another open file, of this process or
// another, has a lock that does not go with it.
func TryLock(f *os.File, mode LockMode) (ok bool, err error) { return try(f, mode) }

// IsAt reports whether path is still the name of f. Who locks a file that others
// may remove asks that after it has the lock.
func IsAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}
