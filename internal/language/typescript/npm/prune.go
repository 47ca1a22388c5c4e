package npm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// Folder is the name of the folder of a Store in the cache of xfn.
const Folder = "npm"

// Usage is the disk space that packages use.
type Usage struct {
	Packages int
	Bytes    int64
}

// Used returns the usage of the store in dir.
func Used(ctx context.Context, dir string) (Usage, error) {
	return Prune(ctx, dir, time.Now().AddDate(1, 0, 0), true)
}

// Prune removes the packages in dir that were last used before a time, and returns their
// number and size. With dry set, Prune removes nothing and returns what it would remove. A
// build that uses a removed package at the same time fails, and can be repeated.
func Prune(ctx context.Context, dir string, before time.Time, dry bool) (u Usage, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return u, fmt.Errorf("opening the packages of npm: %w", fsx.Cause(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, a := range algorithms {
		entries, err := fs.ReadDir(root.FS(), a.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return u, fmt.Errorf("listing the packages of npm: %w", fsx.Cause(err))
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue
			}
			size, err := sizeOf(ctx, root, a.name+"/"+e.Name())
			if err != nil {
				return u, fmt.Errorf("listing the packages of npm: %w", err)
			}
			u.Packages, u.Bytes = u.Packages+1, u.Bytes+size
			if dry {
				continue
			}
			if err := fsx.RemoveAll(root, filepath.Join(a.name, e.Name())); err != nil {
				return u, fmt.Errorf("removing a package of npm: %w", fsx.Cause(err))
			}
		}
	}
	return u, nil
}

// sizeOf returns the size of all files in a folder.
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
