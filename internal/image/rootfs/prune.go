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

// Usage is what a store, or a part of it, takes.
type Usage struct {
	// Roots is how many roots there are.
	Roots int
	// Bytes is how large their files are together, and those that killed
	// processes have left.
	Bytes int64
}

// Used says what is in the store in dir. It waits for nobody.
func Used(ctx context.Context, dir string) (Usage, error) {
	u, err := each(ctx, dir, func(entry) (bool, error) { return true, nil })
	if err != nil {
		return u, fmt.Errorf("looking through the unpacked images: %w", err)
	}
	return u, nil
}

// Prune removes from the store in dir the roots that were asked for last before
// a time, and what killed processes have left, and says what that was. It keeps
// the roots that a process uses. With dry set it only says what it would remove.
func Prune(ctx context.Context, dir string, before time.Time, dry bool) (Usage, error) {
	u, err := each(ctx, dir, func(e entry) (bool, error) { return e.prune(before, dry) })
	if err != nil {
		return u, fmt.Errorf("pruning the unpacked images: %w", err)
	}
	return u, nil
}

// prune removes the entry if it is old or not whole, and free.
func (e entry) prune(before time.Time, dry bool) (removed bool, err error) {
	lock, err := e.lock(fsx.ExclusiveLock)
	if err != nil {
		if errors.Is(err, errLocked) {
			err = nil
		}
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

// sweep removes what killed processes have left in a folder of entries. What it
// cannot remove does not matter to another root; Prune says why.
func sweep(folder string) {
	entries, _ := entriesIn(folder)
	for _, e := range entries {
		_, _ = e.prune(time.Time{}, false)
	}
}

// each adds up the entries of a store that take returns true for.
func each(ctx context.Context, dir string, take func(entry) (bool, error)) (u Usage, err error) {
	entries, err := entriesIn(filepath.Join(dir, rootsFolder))
	for _, e := range entries {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return u, err
		}
		err = u.addIf(e, take)
	}
	return u, err
}

// addIf adds an entry if take returns true for it. It looks before, as nothing
// may be there after.
func (u *Usage) addIf(e entry, take func(entry) (bool, error)) error {
	whole, err := e.whole()
	if err != nil {
		return err
	}
	size := sizeOf(e.dir)
	taken, err := take(e)
	if taken {
		u.Bytes += size
	}
	if taken && whole {
		u.Roots++
	}
	return err
}

func entriesIn(folder string) ([]entry, error) {
	found, err := os.ReadDir(folder)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var entries []entry
	for _, d := range found {
		if d.IsDir() {
			entries = append(entries, entry{dir: filepath.Join(folder, d.Name())})
		}
	}
	return entries, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fsx.Cause(err)
}

// sizeOf returns how large the files in dir are together, as far as they can be
// seen.
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
