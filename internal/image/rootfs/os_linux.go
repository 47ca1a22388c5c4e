package rootfs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// errSystem is why this system unpacks no image, or nil.
var errSystem error

// openDir opens a directory, and not one that a link leads to.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// isOwn fails for an entry that another user made, or may write to: what is in
// it need not be what its name says. A cache may be shared.
func isOwn(entry *os.File) error {
	info, err := entry.Stat()
	if err != nil {
		return fsx.Cause(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%q is not this user's alone: use another cache, or remove it", entry.Name())
	}
	return nil
}

// mayNotRun tells whether the file system of an open file lets no program run.
func mayNotRun(f *os.File) bool {
	var stat unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &stat) == nil && stat.Flags&unix.ST_NOEXEC != 0
}

// syncFiles forces to disk what is in the file system of dir: one call for all
// files, where one for each would take longer than unpacking them.
func syncFiles(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}
