package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// maxLinks is how many parts the links to the directory of an entry may have,
// all together and each with itself.
const maxLinks = 256

// A tree is a root file system that is being unpacked. It keeps a trail of open
// directories from the root to the current one. Names are only ever looked up
// in the directory at its end, one at a time, so that no link is followed
// unless enter does.
type tree struct {
	trail  []step
	owner  *Owner
	limits Limits
	// entries and content count what the layers have so far: the content is in
	// bytes, with the holes of sparse files.
	entries int
	content int64
	// made is what the current layer has made.
	made   made
	buffer [len(zeros)]byte
}

// A step is an open directory of a trail.
type step struct {
	name string
	dir  *os.Root
	// mode and mtime are what it gets when it is left: to be written to it may
	// need another mode until then, and gets another time.
	mode   fs.FileMode
	mtime  time.Time
	opened bool
}

// newTree returns the tree that is to be made of an empty directory.
func newTree(root *os.Root, owner *Owner, limits Limits) (*tree, error) {
	t := &tree{trail: []step{{dir: root}}, owner: owner, limits: limits}
	return t, t.describeRoot(undescribed)
}

// finish leaves all directories. The one that newTree got stays open.
func (t *tree) finish() error {
	err := t.leaveTo(1)
	return errors.Join(err, t.trail[0].settle())
}

// abandon closes all directories but the one that newTree got.
func (t *tree) abandon() { _ = t.leaveTo(1) }

// here is the current directory.
func (t *tree) here() *os.Root { return t.trail[len(t.trail)-1].dir }

// path returns the path of a file in the current directory, in parts.
func (t *tree) path(base string) []string {
	parts := make([]string, 0, len(t.trail))
	for _, s := range t.trail[1:] {
		parts = append(parts, s.name)
	}
	return append(parts, base)
}

// enter goes to a directory: a clean path relative to the root. Links on the
// way lead where they would for a process whose root this is, but only to what
// is there. Other directories that are missing are made if create is set, else
// it is an fs.ErrNotExist.
func (t *tree) enter(dir string, create bool) error {
	todo := split(dir)
	shared := t.shared(todo)
	if err := t.leaveTo(1 + shared); err != nil {
		return err
	}
	todo = todo[shared:]
	links, linked := 0, 0 // linked is how many of todo are from links
	for len(todo) > 0 {
		target, err := t.step(todo[0], create && linked == 0)
		if err != nil && linked > 0 {
			return fmt.Errorf("a link leads to no directory of the image: %w", fsx.Cause(err))
		}
		if err != nil {
			return err
		}
		todo, linked = todo[1:], max(linked-1, 0)
		if target == "" {
			continue
		}
		parts := split(target)
		if links += 1 + len(parts); links > maxLinks {
			return errors.New("too many links lead to its directory")
		}
		todo, linked = append(parts, todo...), linked+len(parts)
	}
	return nil
}

// step goes to a name in the current directory, or returns the target of the
// link that it is, to be gone to from where it is then.
func (t *tree) step(name string, create bool) (target string, err error) {
	if name == ".." {
		if len(t.trail) == 1 {
			return "", errors.New("it leads out of the root")
		}
		return "", t.leave()
	}
	info, err := t.here().Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return "", t.push(name, info.Mode(), info.ModTime())
	case err == nil && info.Mode().Type() == fs.ModeSymlink:
		return t.follow(name)
	case err == nil && !create:
		return "", syscall.ENOENT // A file is in its place.
	case err == nil || create && errors.Is(err, fs.ErrNotExist):
		return "", t.pushNew(name)
	default:
		return "", err
	}
}

// follow returns the target of a link. If it is an absolute one, that is
// relative to the root, which becomes the current directory.
func (t *tree) follow(name string) (string, error) {
	target, err := t.here().Readlink(name)
	if err == nil && path.IsAbs(target) {
		err = t.leaveTo(1)
	}
	return target, err
}

// pushNew makes and enters a directory that no entry describes.
func (t *tree) pushNew(name string) error {
	if err := t.take(1, 0); err != nil {
		return err
	}
	if err := t.replace(name, func() error { return t.here().Mkdir(name, 0o700) }); err != nil {
		return err
	}
	if err := t.describe(name, undescribed); err != nil {
		return err
	}
	return t.push(name, undescribed.mode, undescribed.mtime)
}

// push enters a directory.
func (t *tree) push(name string, mode fs.FileMode, mtime time.Time) error {
	if len(t.trail) > t.limits.Depth {
		return fmt.Errorf("more than %d directories lie in each other", t.limits.Depth)
	}
	opened := mode&0o700 != 0o700
	if opened {
		if err := t.here().Chmod(name, mode|0o700); err != nil {
			return err
		}
	}
	dir, err := t.here().OpenRoot(name)
	if err != nil {
		return err
	}
	t.trail = append(t.trail, step{name, dir, mode, mtime, opened})
	return nil
}

// leave goes to the directory above.
func (t *tree) leave() error {
	last := t.trail[len(t.trail)-1]
	t.trail = t.trail[:len(t.trail)-1]
	return errors.Join(last.settle(), last.dir.Close())
}

// leaveTo leaves directories until so many are open.
func (t *tree) leaveTo(open int) error {
	var err error
	for len(t.trail) > open {
		err = errors.Join(err, t.leave())
	}
	return err
}

// settle gives a directory the mode and the time that it should have. The mode
// is last, as it may be one that locks out.
func (s step) settle() error {
	if err := s.dir.Chtimes(".", s.mtime, s.mtime); err != nil || !s.opened {
		return err
	}
	return s.dir.Chmod(".", s.mode)
}

// shared returns how many parts of a path the trail already has.
func (t *tree) shared(parts []string) int {
	n := 0
	for n < len(parts) && n+1 < len(t.trail) && t.trail[n+1].name == parts[n] {
		n++
	}
	return n
}

// take counts entries and bytes of files.
func (t *tree) take(entries int, size int64) error {
	t.entries += entries
	if t.entries > t.limits.Entries {
		return fmt.Errorf("it and those below it have more than %d entries", t.limits.Entries)
	}
	if size > t.limits.Bytes-t.content {
		return fmt.Errorf("its files and those of the layers below it have more than %d bytes", t.limits.Bytes)
	}
	t.content += size
	return nil
}

// replace makes something in the current directory. If something else is there,
// it is removed.
func (t *tree) replace(name string, make func() error) error {
	err := make()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := fsx.RemoveAll(t.here(), name); err != nil {
		return err
	}
	return make()
}

// split returns the parts of a path that lead anywhere.
func split(name string) []string {
	parts := strings.Split(name, "/")
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "." })
}

// A made is what a layer has made of a directory: each name that it has, or has
// something below.
type made map[string]made

// add takes note of a path.
func (m made) add(parts []string) {
	for _, p := range parts {
		if m[p] == nil {
			m[p] = made{}
		}
		m = m[p]
	}
}

// at returns what was made of the directory of a path.
func (m made) at(parts []string) made {
	for _, p := range parts {
		m = m[p]
	}
	return m
}
