//go:build unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

func unlock(f *os.File) error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
}

func rename(from, to string) error { return os.Rename(from, to) }

// duplicate returns an open file again, with the same offset. A program that opens /dev/stdout
// instead begins at the start of a file.
func duplicate(fd int, path string) (*os.File, error) {
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(copied), path), nil
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

// IsTrusted reports whether only the current user and root can replace the folder at path.
// One of them must own the folder and all folders above. Others may write only to folders
// with the sticky bit, in which they cannot remove files of this user. IsTrusted assumes that
// a group whose ID equals the owner's ID has no other members. On Windows, it returns false.
func IsTrusted(path string) bool {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	for ; err == nil; path = filepath.Dir(path) {
		info, statErr := os.Stat(path)
		if statErr != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok || st.Uid != 0 && int64(st.Uid) != int64(os.Geteuid()):
			return false
		case info.Mode()&fs.ModeSticky == 0 && (info.Mode().Perm()&0o002 != 0 || info.Mode().Perm()&0o020 != 0 && st.Gid != st.Uid):
			return false
		case path == filepath.Dir(path):
			return true
		}
	}
	return false
}
