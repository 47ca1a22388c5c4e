package e2e

import (
	"syscall"
	"testing"
)

// Disk returns the directory of a new file system in memory, of a size such as "256k". It skips the
// test if this process must not mount one.
func Disk(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a disk here: %v", err)
	}
	t.Cleanup(func() { NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// MakeReadOnly makes a Disk read-only.
func MakeReadOnly(t testing.TB, disk string) {
	t.Helper()
	NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}
