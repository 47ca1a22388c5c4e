package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback tells the system to begin writing the bytes between two offsets to the
// disk, while the rest of the file is still being written. This makes the sync at the end
// faster. Errors are ignored.
func (f *AtomicFile) startWriteback(from, to int64) {
	_ = unix.SyncFileRange(int(f.f.Fd()), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
}

// SyncFiles syncs the whole file system that contains dir. Syncing each of many files would take
// longer than writing them. On other systems than Linux, SyncFiles does nothing.
func SyncFiles(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}
