package fsx

import "golang.org/x/sys/unix"

// startWriteback makes the system write a part of a file to the disk while the
// rest is being written, which shortens the sync. Errors are ignored.
func (f *AtomicFile) startWriteback(from, to int64) {
	_ = unix.SyncFileRange(int(f.f.Fd()), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
}
