package rootfs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// errSystem is the reason why this system cannot unpack images. On Linux it is nil.
var errSystem error

// openDir opens a directory. It returns an error for a symbolic link.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// isOwn returns an error if another user created the directory or may write to it: users may
// share a cache, and that user could have forged the content.
func isOwn(entry *os.File) error {
	info, err := entry.Stat()
	if err != nil {
		return fsx.Cause(err)
	}
	if !fsx.IsPrivate(info) {
		return fmt.Errorf("%q is owned by other users, or accessible to them: use another cache, or remove it", entry.Name())
	}
	return nil
}

// mayNotRun reports whether the file system of f is mounted noexec, so that programs cannot
// be executed.
func mayNotRun(f *os.File) bool {
	var stat unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &stat) == nil && stat.Flags&unix.ST_NOEXEC != 0
}
