package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// clone copies the tree of the directory from to the directory to, with hard links to its
// files. Layers that are applied later replace files, and never change them.
func (t *tree) clone(ctx context.Context, from, to *os.Root) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	source, err := from.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := to.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	entries, err := source.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = t.cloneDir(ctx, from, to, info)
		} else {
			err = errors.Join(t.count(1, info.Size()), unix.Linkat(int(source.Fd()), e.Name(), int(target.Fd()), e.Name(), 0))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) cloneDir(ctx context.Context, from, to *os.Root, info fs.FileInfo) error {
	name := info.Name()
	if err := errors.Join(t.count(1, 0), to.Mkdir(name, 0o700)); err != nil {
		return err
	}
	lower, err := from.OpenRoot(name)
	if err != nil {
		return err
	}
	upper, err := to.OpenRoot(name)
	if err != nil {
		return errors.Join(err, lower.Close())
	}
	if err := errors.Join(t.clone(ctx, lower, upper), lower.Close(), upper.Close()); err != nil {
		return err
	}
	if err := t.cloneOwner(to, name, info); err != nil {
		return err
	}
	return errors.Join(to.Chmod(name, info.Mode()), to.Chtimes(name, info.ModTime(), info.ModTime()))
}

// cloneOwner gives a directory the owner that info has, if this process may choose owners.
func (t *tree) cloneOwner(dir *os.Root, name string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case t.owner == nil:
		return nil
	case !ok:
		return errors.New("the directory has no owner")
	default:
		return dir.Lchown(name, int(stat.Uid), int(stat.Gid))
	}
}

// cloneRoot clones lower into the root of the tree, whose other metadata finish applies.
func (t *tree) cloneRoot(ctx context.Context, lower *os.Root) error {
	info, err := lower.Stat(".")
	if err != nil {
		return err
	}
	top := &t.trail[0]
	top.mode, top.mtime = info.Mode(), info.ModTime()
	return errors.Join(t.cloneOwner(top.dir, ".", info), t.clone(ctx, lower, top.dir))
}
