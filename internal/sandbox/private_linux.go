package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/filelock"
	"github.com/xfn-dev/xfn/internal/remove"
)

const (
	// tmpName is the directory of a root that private directories lie in.
	tmpName = "tmp"
	// privatePrefix is what their names begin with.
	privatePrefix = "xfn-"
)

// A private is the directory that a confined function may write to. It is locked
// for as long as it is needed: others that find it free, as its caller was
// killed, remove it.
type private struct {
	name   string // its path, as the function sees it
	parent *os.Root
	lock   *os.File
}

// newPrivate makes a private directory: in the root's tmp if that root becomes
// the function's, and else in the spec's.
func newPrivate(spec Spec, r Report) (private, error) {
	dir, seen, err := privateParent(spec, r.Chroot)
	if err != nil {
		return private{}, err
	}
	p := private{parent: dir}
	if r.Chroot {
		sweep(dir)
	}
	for p.lock == nil && err == nil {
		p.name = path.Join(seen, privatePrefix+strings.ToLower(rand.Text()))
		p.lock, err = makeLocked(dir, path.Base(p.name))
	}
	if err == nil && Becomes() {
		err = dir.Lchown(path.Base(p.name), spec.HostID+spec.UID, spec.HostGID+spec.GID)
	}
	if err != nil {
		return private{}, errors.Join(err, p.remove())
	}
	return p, nil
}

// privateParent opens the directory that private ones lie in, and says where the
// function sees it.
func privateParent(spec Spec, chroot bool) (dir *os.Root, seen string, err error) {
	if !chroot {
		if seen, err = filepath.Abs(orDefault(spec.TempDir, os.TempDir())); err != nil {
			return nil, "", err
		}
		dir, err = os.OpenRoot(seen)
		return dir, seen, err
	}
	root, err := os.OpenRoot(spec.Root)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Mkdir(tmpName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	if info, err := root.Lstat(tmpName); err != nil || !info.IsDir() {
		return nil, "", errors.Join(fmt.Errorf("the root's /%s is not a directory", tmpName), err)
	}
	dir, err = root.OpenRoot(tmpName)
	return dir, "/" + tmpName, err
}

// makeLocked makes a directory and locks it, or returns nil if another process
// took it for left behind, and has removed it, meanwhile.
func makeLocked(dir *os.Root, name string) (*os.File, error) {
	if err := dir.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	f, err := lockDir(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// lockDir locks a directory until the file is closed, or returns nil if another
// process has it locked.
func lockDir(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	free, err := filelock.Try(f, filelock.Exclusive)
	if free && err == nil {
		_, err = dir.Lstat(name) // it may have been removed before it was locked
	}
	if !free || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes what killed processes have left. What it cannot remove does not
// matter to another run.
func sweep(dir *os.Root) {
	names, _ := remove.Names(dir)
	for _, name := range names {
		if !strings.HasPrefix(name, privatePrefix) {
			continue
		}
		if f, err := lockDir(dir, name); f != nil && err == nil {
			_ = errors.Join(remove.All(dir, name), f.Close())
		}
	}
}

// remove removes the directory.
func (p private) remove() error {
	err := remove.All(p.parent, path.Base(p.name))
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	if err = errors.Join(err, p.parent.Close()); err != nil {
		return fmt.Errorf("removing a private directory: %w", err)
	}
	return nil
}
