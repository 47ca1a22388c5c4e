package language

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// A Cache is what a language keeps in Artifacts.Dir. The modification time of an entry is
// the time of its last use.
type Cache struct {
	// Name is the name of a folder in Artifacts.Dir, and Folders are the names of folders
	// in it. Each file or folder in Folders is an entry.
	Name    string
	Folders []string
	// Lock is the name of a file in each entry that a build locks while it uses the entry.
	// If it is empty, entries are not locked.
	Lock string
	// Noun names one entry: "package".
	Noun string
}

// Usage is the disk space that entries use.
type Usage struct {
	Entries int
	Bytes   int64
}

// Used returns the usage of the cache, in the folder dir of all caches.
func (c Cache) Used(ctx context.Context, dir string) (Usage, error) {
	return c.Prune(ctx, dir, fsx.AfterAllUse(), true)
}

// Prune removes the entries that were last used before a time, and returns their number and
// size. With dry set, Prune removes nothing and returns what it would remove. Without a Lock, a
// build that uses a removed entry at the same time may fail, and can be repeated.
func (c Cache) Prune(ctx context.Context, dir string, before time.Time, dry bool) (u Usage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("accessing cache %q: %w", filepath.Join(dir, c.Name), fsx.Cause(err))
		}
	}()
	root, err := os.OpenRoot(filepath.Join(dir, c.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, folder := range c.Folders {
		entries, err := fs.ReadDir(root.FS(), folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return u, err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.ModTime().Before(before) || fsx.IsTemporary(e.Name()) {
				continue // another process removed, used or writes it
			}
			size, err := sizeOf(ctx, root, path.Join(folder, e.Name()))
			if err != nil {
				return u, err
			}
			removed := dry
			if !dry {
				removed, err = c.remove(root, filepath.Join(folder, e.Name()))
			}
			if err != nil {
				return u, err
			}
			if removed {
				u.Entries, u.Bytes = u.Entries+1, u.Bytes+size
			}
		}
	}
	return u, nil
}

// remove removes an entry, unless a build uses it.
func (c Cache) remove(root *os.Root, entry string) (removed bool, err error) {
	if c.Lock != "" {
		f, err := root.OpenFile(filepath.Join(entry, c.Lock), os.O_RDWR, 0)
		if err == nil {
			defer f.Close()
			if locked, err := fsx.TryLock(f, fsx.ExclusiveLock); err != nil || !locked {
				return false, err
			}
		}
	}
	return true, fsx.RemoveAll(root, entry)
}

func sizeOf(ctx context.Context, root *os.Root, dir string) (size int64, err error) {
	err = fs.WalkDir(root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // another process removed it
		case err != nil:
			return fsx.Cause(err)
		case !d.IsDir():
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size, err
}
