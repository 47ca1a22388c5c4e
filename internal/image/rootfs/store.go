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

const (
	rootsFolder = "roots/sha256"
	rootName    = "rootfs"
	partialName = "partial"
)

// format is hashed into the name of each entry. Changing it makes roots of older versions
// unused.
const format = "xfn root file system 2"

const poll = 5 * time.Millisecond

type entry struct{ dir string }

// entryOf returns the entry for the root with the layers diffIDs and the owner.
func entryOf(store string, diffIDs []v1.Hash, owner *Owner) entry {
	sum := sha256.New()
	fmt.Fprintln(sum, format)
	if owner != nil {
		fmt.Fprintln(sum, "owner", owner.UID, owner.GID)
	}
	for _, id := range diffIDs {
		fmt.Fprintln(sum, id)
	}
	return entry{filepath.Join(store, rootsFolder, hex.EncodeToString(sum.Sum(nil)))}
}

func (e entry) root() string { return filepath.Join(e.dir, rootName) }

func (e entry) whole() (bool, error) {
	_, err := os.Lstat(e.root())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, fsx.Cause(err)
}

// get returns a lease of the root: an open file whose closing releases the root. If the root
// does not exist, get creates it with fill, or waits for another process that is creating
// it. Processes that use the root do not delay get.
func (e entry) get(ctx context.Context, fill func(*os.Root) error) (*os.File, error) {
	for {
		lease, err := e.use()
		if err == nil && lease == nil {
			err = e.create(fill) // Afterwards the root exists, unless another process has pruned it.
		}
		if errors.Is(err, errLocked) {
			err = proc.Sleep(ctx, poll)
		}
		if err != nil || lease != nil {
			return lease, err
		}
	}
}

// use returns a lease of the root, or nil if there is no complete root.
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
	_ = fsx.Touch(e.dir) // Prune reads the time of the directory. An error is ignored: the store may be read-only.
	return lease, nil
}

// create creates the root by calling fill, unless another process has created it.
func (e entry) create(fill func(*os.Root) error) (err error) {
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

// build calls fill to create the root. The entry must be locked.
func (e entry) build(fill func(*os.Root) error) (err error) {
	dir, err := os.OpenRoot(e.dir)
	if err != nil {
		return fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	err = fsx.RemoveAll(dir, partialName) // A killed process may have left a partial root.
	if err == nil {
		err = dir.Mkdir(partialName, 0o700)
	}
	if err != nil {
		return fsx.Cause(err)
	}
	root, err := dir.OpenRoot(partialName)
	if err != nil {
		return fsx.Cause(err)
	}
	if err := errors.Join(fill(root), root.Close()); err != nil {
		return err
	}
	// Without SyncFiles, a power failure could leave the name of a complete root without its
	// content.
	if err := fsx.SyncFiles(e.dir); err != nil {
		return fsx.Cause(err)
	}
	return fsx.Cause(dir.Rename(partialName, rootName))
}

// discard removes a locked entry. It renames a complete root before removing it, so that a
// partially removed root never has the name of a complete one.
func (e entry) discard() error {
	dir, err := os.OpenRoot(e.dir)
	if err == nil {
		if err = dir.Rename(rootName, partialName); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = fsx.RemoveAll(dir, partialName)
		}
		err = errors.Join(err, dir.Close())
	}
	if err == nil {
		err = os.Remove(e.dir)
	}
	if err != nil {
		return fmt.Errorf("removing %q: %w", e.dir, fsx.Cause(err))
	}
	return nil
}

var errLocked = errors.New("another process uses the directory")

// lock creates the entry's directory if it does not exist, and locks it until
// the returned file is closed. It does not wait.
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
		// Another process removed the directory before this process locked it: try again.
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// makeDir creates the entry's directory, which only its owner can enter.
func (e entry) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(e.dir), 0o755); err != nil {
		return err
	}
	return os.MkdirAll(e.dir, 0o700) // Another process may have created it.
}
