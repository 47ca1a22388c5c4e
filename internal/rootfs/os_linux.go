package rootfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks f until it is closed or the process ends. It fails with
// errLocked if another process has it.
func lockFile(f *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	if err != nil {
		return fmt.Errorf("locking %q: %w", f.Name(), err)
	}
	return nil
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
