package fsx

import "golang.org/x/sys/unix"

// startWriteback tells the system to begin writing the bytes between two offsets to the
// disk, while the rest of the file is still being written. This makes the sync at the end
// faster. Errors are ignored.
func (f *AtomicFile) startWriteback(from, to int64) {
	_ = unix.SyncFileRange(int(f.f.Fd()), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
}
