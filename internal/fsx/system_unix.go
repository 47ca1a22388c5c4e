//go:build unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func try(f *os.File, mode LockMode) (bool, error) {
	how := unix.LOCK_SH
	if mode == ExclusiveLock {
		how = unix.LOCK_EX
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("flock", err)
}

// isMine reports whether the current user owns a file, and the file has no other hard links.
func isMine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && st.Nlink == 1
}

// IsPrivate reports whether a file or folder belongs to the current user, and other users
// cannot access it. On Windows it is false, because modes say nothing about access there.
func IsPrivate(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && info.Mode().Perm()&0o077 == 0
}
