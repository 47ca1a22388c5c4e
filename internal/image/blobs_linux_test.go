package image_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
)

// TestShareOfOtherUser: a process that cannot write to the directory, which belongs to another
// user, locks the same file as the processes of this user.
func TestShareOfOtherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "blobs")
	d := e2e.Must(image.OpenBlobDir(path))(t)
	e2e.NoError(t, e2e.Must(d.Seize(t.Context()))(t).Close())
	for dir, mode := range map[string]os.FileMode{filepath.Dir(filepath.Dir(path)): 0o755, filepath.Dir(path): 0o755, path: 0o555} {
		e2e.NoError(t, os.Chmod(dir, mode))
	}
	files, err := filepath.Glob(filepath.Join(path, "*lock*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got the lock files %q, %v", files, err)
	}
	e2e.NoError(t, os.Chmod(files[0], 0o444))
	shared := asNobody(func() (any, error) { return d.Share(t.Context()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	e2e.NoError(t, os.Chmod(files[0], 0o644))
	ended, end := context.WithCancel(t.Context())
	end()
	if lock, err := d.Seize(ended); err == nil {
		t.Errorf("the directory was locked exclusively while another user shares it: %v", lock.Close())
	}
	runtime.KeepAlive(shared)
}

// TestFetchBlobToFullDisk checks that a cache does not keep the disk full.
func TestFetchBlobToFullDisk(t *testing.T) {
	dir := e2e.Disk(t, "256k")
	data := make([]byte, 1<<20)
	src := &source{data: data}
	err := openBlobDir(t, dir).Fetch(t.Context(), describe(t, data), src.open, func(int64) {})
	e2e.ErrorIs(t, "a full disk is the cause of the error", err, syscall.ENOSPC)
	if left := e2e.Names(t, filepath.Join(dir, "partial")); len(left) > 0 {
		t.Errorf("the full disk still has %q", left)
	}
}

type outcome struct {
	value any
	err   error
}

// asNobody calls do with the permissions of a user who owns no files, if this process is root.
func asNobody(do func() (any, error)) outcome {
	done := make(chan outcome)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine, because it is not unlocked.
		_ = syscall.Setfsuid(65534)
		value, err := do()
		done <- outcome{value, err}
	}()
	return <-done
}
