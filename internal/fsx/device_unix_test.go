//go:build unix

package fsx_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// Write writes to a pipe directly and does not replace it.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	e2e.NoError(t, syscall.Mkfifo(pipe, 0o600))
	e2e.NoError(t, os.Symlink("pipe", link))
	for _, path := range []string{pipe, link} {
		// Opening a pipe for both reading and writing does not block.
		reader := e2e.Must(os.OpenFile(pipe, os.O_RDWR, 0))(t)
		e2e.NoError(t, fsx.WriteFile(path, 0o644, []byte("new")))
		info, err := os.Lstat(pipe)
		if err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Fatalf("the pipe was replaced: %v, %v", info, err)
		}
		got := make([]byte, 3)
		if _, err := io.ReadFull(reader, got); err != nil || string(got) != "new" {
			t.Errorf("got %q, %v", got, err)
		}
		e2e.NoError(t, reader.Close())
	}
	e2e.Equal(t, "the pipe and the link are left", 2, entries(t, dir))
}

func TestDevice(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skipf("this system has no device that is always full: %v", err)
	}
	err := fsx.WriteFile(full, 0o644, []byte("new"))
	e2e.ErrorIs(t, "the error of the device is returned", err, syscall.ENOSPC)
	e2e.Equal(t, "the error names the device once", 1, strings.Count(fmt.Sprint(err), full))
	if info, err := os.Lstat(full); err != nil || info.Mode()&fs.ModeDevice == 0 {
		t.Errorf("the device was replaced: %v, %v", info, err)
	}
}

// A process that is being started has copies of the open files.
func TestUnlockWithCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	e2e.Equal(t, "the first lock succeeds", true, e2e.Must(fsx.TryLock(first, fsx.ExclusiveLock))(t))
	copied := e2e.Must(syscall.Dup(int(first.Fd())))(t)
	defer syscall.Close(copied)
	e2e.NoError(t, fsx.Unlock(first))
	e2e.Equal(t, "the lock is free after Unlock, although a copy of the file is open", true, e2e.Must(fsx.TryLock(second, fsx.ExclusiveLock))(t))
}
