package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// The names in a store.
const (
	rootsFolder = "roots/sha256"
	rootName    = "rootfs"
	partialName = "partial"
)

// format is a part of what entries are named by. Another one makes the roots of
// older versions unknown, for when they were unpacked in another way.
const format = "xfn root file system 2"

// poll is how often a lock is tried that another process has.
const poll = 5 * time.Millisecond

// An entry is the directory of a store that is for one root.
type entry struct {
	dir   string
	owner *Owner
}

// entryOf returns the entry of the root that layers make, in the order of these
// digests of their content.
func entryOf(store string, diffIDs []v1.Hash, owner *Owner) entry {
	sum := sha256.New()
	fmt.Fprintln(sum, format)
	if owner != nil {
		fmt.Fprintln(sum, "owner", owner.UID, owner.GID)
	}
	for _, id := range diffIDs {
		fmt.Fprintln(sum, id)
	}
	return entry{filepath.Join(store, rootsFolder, hex.EncodeToString(sum.Sum(nil))), owner}
}

func (e entry) root() string    { return filepath.Join(e.dir, rootName) }
func (e entry) partial() string { return filepath.Join(e.dir, partialName) }

// whole tells whether the entry has its root.
func (e entry) whole() (bool, error) {
	_, err := os.Lstat(e.root())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, fsx.Cause(err)
}

// get returns a lease of the root, which ends when it is closed. The root is
// made by fill if it is not there. While another process makes it, get waits;
// it waits for no other lease, as that may last as long as a function runs.
func (e entry) get(ctx context.Context, fill func(*os.Root) error) (*os.File, error) {
	for {
		lease, err := e.use()
		if err == nil && lease == nil {
			err = e.make(fill)
		}
		switch {
		case errors.Is(err, errLocked):
		case err != nil || lease != nil:
			return lease, err
		default:
			continue // It is there now, if it has not been pruned at once.
		}
		if err := proc.Sleep(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// use returns a lease of the root, or nil if there is none yet.
func (e entry) use() (*os.File, error) {
	lease, err := e.lock(fsx.SharedLock)
	if err != nil {
		return nil, err
	}
	whole, err := e.whole()
	if err == nil {
		err = isOwn(lease)
	}
	if !whole || err != nil {
		return nil, errors.Join(err, lease.Close())
	}
	now := time.Now()
	_ = os.Chtimes(e.dir, now, now) // For Prune. A store may be one that can only be read.
	return lease, nil
}

// make makes the root by fill, unless another process has done so before.
func (e entry) make(fill func(*os.Root) error) (err error) {
	lock, err := e.lock(fsx.ExclusiveLock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := isOwn(lock); err != nil {
		return err
	}
	if whole, err := e.whole(); whole || err != nil {
		return err
	}
	sweep(filepath.Dir(e.dir))
	if err := e.build(fill); err != nil {
		return errors.Join(err, e.discard())
	}
	return nil
}

// build makes the root. It needs the entry to be locked, as discard does.
func (e entry) build(fill func(*os.Root) error) (err error) {
	dir, err := os.OpenRoot(e.dir)
	if err != nil {
		return fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := e.prepare(dir); err != nil {
		return fsx.Cause(err)
	}
	root, err := dir.OpenRoot(partialName)
	if err != nil {
		return fsx.Cause(err)
	}
	if err := errors.Join(fill(root), root.Close()); err != nil {
		return err
	}
	// After a power failure the name must not be there without the content.
	if err := syncFiles(e.dir); err != nil {
		return fsx.Cause(err)
	}
	return fsx.Cause(dir.Rename(partialName, rootName))
}

// prepare makes an empty directory for the root, in the place of what a killed
// process may have left.
func (e entry) prepare(dir *os.Root) error {
	if err := fsx.RemoveAll(dir, partialName); err != nil {
		return err
	}
	return dir.Mkdir(partialName, 0o700)
}

// discard removes the entry. Its root loses its name first, so that a part of
// it is never taken for the whole.
func (e entry) discard() error {
	err := os.Rename(e.root(), e.partial())
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = e.removePartial()
	}
	if err == nil {
		err = os.Remove(e.dir)
	}
	if err != nil {
		return fmt.Errorf("removing %q: %w", e.dir, fsx.Cause(err))
	}
	return nil
}

func (e entry) removePartial() (err error) {
	dir, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return fsx.RemoveAll(dir, partialName)
}

// errLocked is the error of lock if another process has it.
var errLocked = errors.New("another process uses it")

// lock makes the entry's directory if it is not there, and locks it, shared or
// exclusively, until the file that it returns is closed. It does not wait.
func (e entry) lock(mode fsx.LockMode) (*os.File, error) {
	for {
		f, err := openDir(e.dir)
		if errors.Is(err, fs.ErrNotExist) {
			if err = e.makeDir(); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("opening %q: %w", e.dir, fsx.Cause(err))
		}
		ok, err := fsx.TryLock(f, mode)
		if err == nil && !ok {
			err = errLocked
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking %q: %w", e.dir, err), f.Close())
		}
		if fsx.IsAt(f, e.dir) {
			return f, nil
		}
		// It was removed before it was locked.
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// makeDir makes the entry's directory. Only its owner may enter it.
func (e entry) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(e.dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(e.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
