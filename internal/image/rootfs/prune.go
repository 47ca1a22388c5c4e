package rootfs

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

// Usage is the disk space that a store, or a part of it, uses.
type Usage struct {
	Roots int
	// Bytes is the size of all files, including those that killed processes left.
	Bytes int64
}

// Used returns the usage of the store in dir. It does not wait for locks.
func Used(ctx context.Context, dir string) (Usage, error) {
	u, err := each(ctx, dir, func(entry) (bool, error) { return true, nil })
	if err != nil {
		return u, fmt.Errorf("listing the unpacked images: %w", err)
	}
	return u, nil
}

// Prune removes the roots in dir that were last used before a time, and files that killed
// processes left. It returns their number and size. Roots in use are kept. With dry set,
// Prune removes nothing and returns what it would remove.
func Prune(ctx context.Context, dir string, before time.Time, dry bool) (Usage, error) {
	u, err := each(ctx, dir, func(e entry) (bool, error) { return e.prune(before, dry) })
	if err != nil {
		return u, fmt.Errorf("pruning the unpacked images: %w", err)
	}
	return u, nil
}

// prune removes the entry if no process uses it, and if it is incomplete or was last used
// before a time. It reports whether it removed the entry. With dry set, it removes nothing,
// and reports whether it would remove the entry.
func (e entry) prune(before time.Time, dry bool) (removed bool, err error) {
	lock, err := e.lock(fsx.ExclusiveLock)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	info, err := lock.Stat()
	if err != nil {
		return false, fsx.Cause(err)
	}
	if whole, err := e.whole(); err != nil || whole && !info.ModTime().Before(before) {
		return false, err
	}
	if dry {
		return true, nil
	}
	return true, e.discard()
}

// sweep removes incomplete roots that killed processes left. It ignores errors; Prune
// returns such errors.
func sweep(folder string) {
	entries, _ := entriesIn(folder)
	for _, e := range entries {
		_, _ = e.prune(time.Time{}, false)
	}
}

// each calls match for each entry of the store, and returns the total usage of the entries
// for which match returns true. match may remove the entry.
func each(ctx context.Context, dir string, match func(entry) (bool, error)) (u Usage, err error) {
	entries, err := entriesIn(filepath.Join(dir, rootsFolder))
	for _, e := range entries {
		if ctx.Err() != nil {
			return u, context.Cause(ctx)
		}
		whole, err := e.whole()
		if err != nil {
			return u, err
		}
		size := sizeOf(e.dir)
		matched, err := match(e)
		if matched {
			u.Bytes += size
		}
		if matched && whole {
			u.Roots++
		}
		if err != nil {
			return u, err
		}
	}
	return u, err
}

func entriesIn(folder string) ([]entry, error) {
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fsx.Cause(err)
	}
	var entries []entry
	for _, d := range found {
		if d.IsDir() {
			entries = append(entries, entry{filepath.Join(folder, d.Name())})
		}
	}
	return entries, nil
}

// sizeOf returns the total size of the readable files in dir.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
