package image

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

// poll is the time between attempts to lock. Other processes hold a lock only
// while they read the directory, never while they wait for a network.
const poll = 10 * time.Millisecond

// Share locks the directory with a shared lock, until the returned value is closed or the
// process ends. Several processes can have shared locks. Seize waits for all of them.
func (d *BlobDir) Share(ctx context.Context) (io.Closer, error) {
	return d.lock(ctx, lockFile, fsx.SharedLock)
}

// shared calls do while the directory has a shared lock.
func (d *BlobDir) shared(ctx context.Context, do func() error) error {
	use, err := d.Share(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(), use.Close())
}

// Seize locks the directory with an exclusive lock, until the returned value is closed or
// the process ends. While the lock is held, other calls of Share and Seize wait.
func (d *BlobDir) Seize(ctx context.Context) (io.Closer, error) {
	return d.lock(ctx, lockFile, fsx.ExclusiveLock)
}

// Hold marks a name, such as a manifest's digest, as used by this process until the
// returned value is closed. Several processes may hold one name.
func (d *BlobDir) Hold(ctx context.Context, name string) (io.Closer, error) {
	return d.lock(ctx, filepath.Join(usesFolder, name), fsx.SharedLock)
}

// Held returns the names that processes hold, and removes the lock files of all other
// names. The caller must have called Seize.
func (d *BlobDir) Held() (map[string]bool, error) {
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

func (d *BlobDir) lock(ctx context.Context, name string, mode fsx.LockMode) (io.Closer, error) {
	path := filepath.Join(d.path, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if mode == fsx.SharedLock && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		// The directory may belong to another user, whose processes lock the same file.
		if f, err = os.Open(path); err != nil {
			return io.NopCloser(nil), nil // A read-only directory can be used, without a lock.
		}
	}
	if err != nil {
		return nil, fmt.Errorf("locking %q: %w", d.path, fsx.Cause(err))
	}
	for {
		ok, err := fsx.TryLock(f, mode)
		if ok {
			return f, nil
		}
		if err == nil {
			err = proc.Sleep(ctx, poll)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking %q: %w", d.path, err), f.Close())
		}
	}
}

// removeUnlocked removes a file if no process has locked it, and reports whether the file
// was unlocked or missing. With dry set, it does not remove the file.
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
