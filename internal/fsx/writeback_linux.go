package fsx

import "golang.org/x/sys/unix"

// startWriteback makes the disk write part of a file while the rest is still
// being made, so that there is less to wait for when it is synced. It is no more
// than a hint.
func (f *AtomicFile) startWriteback(from, to int64) {
	_ = unix.SyncFileRange(int(f.f.Fd()), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
}
