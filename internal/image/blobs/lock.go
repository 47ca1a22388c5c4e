package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// poll is how often a lock is tried that another process has. It has it for
// as long as it takes to look through the directory, and never while it waits
// for a network.
const poll = 10 * time.Millisecond

// A Use is a hold on something in the directory. Closing it, or the end of the
// process, gives it up.
type Use struct{ file *os.File }

// Close gives up the hold.
func (u Use) Close() error {
	if u.file == nil {
		return nil
	}
	return u.file.Close()
}

// Share waits until nobody sweeps the directory, and keeps it so.
func (d *Dir) Share(ctx context.Context) (Use, error) { return d.lock(ctx, lockFile, fsx.SharedLock) }

// Seize waits until nobody else has the directory by Share or Seize.
func (d *Dir) Seize(ctx context.Context) (Use, error) {
	return d.lock(ctx, lockFile, fsx.ExclusiveLock)
}

// Hold says that a process uses what name stands for. Others may do so, too.
func (d *Dir) Hold(ctx context.Context, name string) (Use, error) {
	return d.lock(ctx, filepath.Join(usesFolder, name), fsx.SharedLock)
}

// Held returns the names for which some process has a Hold, and removes those
// for which none has. It needs the directory by Seize.
func (d *Dir) Held() (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Join(d.path, usesFolder))
	if err != nil {
		return nil, fsx.Cause(err)
	}
	held := map[string]bool{}
	for _, e := range entries {
		free, err := removeUnlocked(filepath.Join(d.path, usesFolder, e.Name()), false)
		if err != nil {
			return nil, err
		}
		if !free {
			held[e.Name()] = true
		}
	}
	return held, nil
}

func (d *Dir) lock(ctx context.Context, name string, mode fsx.LockMode) (Use, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_RDWR|os.O_CREATE, 0o600)
	if mode == fsx.SharedLock && isReadOnly(err) {
		// What cannot be written to is not swept either.
		return Use{}, nil
	}
	if err != nil {
		return Use{}, fmt.Errorf("locking %q: %w", d.path, fsx.Cause(err))
	}
	for {
		ok, err := fsx.TryLock(f, mode)
		if ok {
			return Use{f}, nil
		}
		if err == nil {
			err = proc.Sleep(ctx, poll)
		}
		if err != nil {
			return Use{}, errors.Join(fmt.Errorf("locking %q: %w", d.path, err), f.Close())
		}
	}
}

func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// removeUnlocked removes a file that no process has locked, or with dry set
// only says that it would.
func removeUnlocked(path string, dry bool) (free bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fsx.Cause(err)
	}
	free, err = fsx.TryLock(f, fsx.ExclusiveLock)
	if err = errors.Join(err, f.Close()); err != nil || !free || dry {
		return free, err
	}
	return true, os.Remove(path)
}

var _ io.Closer = Use{}
