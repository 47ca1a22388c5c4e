package fsx

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// try locks one byte beyond the end of any file, because Windows forbids reading locked
// bytes.
func try(f *os.File, mode LockMode) (bool, error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == ExclusiveLock {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

// unlock does nothing, because a new process has no copies of open files on Windows.
func unlock(*os.File) error { return nil }

// rename tries for two seconds to replace a file that another process reads, which Windows does
// not allow.
func rename(from, to string) error {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := os.Rename(from, to)
		inUse := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !inUse || time.Since(start) > 2*time.Second {
			return err
		}
	}
}

// duplicate fails, because no path names an open file on Windows.
func duplicate(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func isMine(fs.FileInfo) bool { return false }

// IsPrivate returns false, because modes say nothing about access on Windows.
func IsPrivate(fs.FileInfo) bool { return false }

// IsTrusted returns false, because modes say nothing about access on Windows.
func IsTrusted(string) bool { return false }
