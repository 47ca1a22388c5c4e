package rootfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errSystem is why this system unpacks no image, or nil.
var errSystem error

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
