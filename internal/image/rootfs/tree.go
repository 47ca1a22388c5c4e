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

// maxLinks limits the symbolic links in the path of an entry, plus the path elements of
// their targets.
const maxLinks = 256

// A tree is a root file system that is being unpacked. It has a current directory. The
// trail has all open directories, from the root to the current directory. A tree looks up
// each name only in the current directory, one path element at a time, so that only enter
// follows links.
type tree struct {
	trail  []step
	owner  *Owner
	limits Limits
	// entries and content are totals of all layers. content is the size of the files in bytes,
	// including holes.
	entries int
	content int64
	// made are the paths that the current layer has created.
	made   made
	buffer [len(zeros)]byte
}

type step struct {
	name string
	dir  *os.Root
	// mode and mtime are applied when the directory is left. Until then, creating files in the
	// directory may need another mode, and changes the time.
	mode   fs.FileMode
	mtime  time.Time
	opened bool
}

func newTree(root *os.Root, owner *Owner, limits Limits) (*tree, error) {
	t := &tree{trail: []step{{dir: root}}, owner: owner, limits: limits}
	return t, t.describeRoot(undescribed)
}

// finish leaves all directories, which applies their metadata. The root that was passed to
// newTree stays open.
func (t *tree) finish() error {
	err := t.leaveTo(1)
	return errors.Join(err, t.trail[0].finish())
}

func (t *tree) current() *os.Root { return t.trail[len(t.trail)-1].dir }

// path returns the path elements, from the root, of the file base in the current directory.
func (t *tree) path(base string) []string {
	parts := make([]string, 0, len(t.trail))
	for _, s := range t.trail[1:] {
		parts = append(parts, s.name)
	}
	return append(parts, base)
}

// enter makes dir, a clean path relative to the root, the current directory. It follows
// symbolic links as a process with this root would, but only to directories that exist. If
// create is set, enter creates missing directories, except those that a link names.
// Otherwise the error for a missing directory is fs.ErrNotExist.
func (t *tree) enter(dir string, create bool) error {
	todo, open := split(dir), 1
	for len(todo) > 0 && open < len(t.trail) && t.trail[open].name == todo[0] {
		todo, open = todo[1:], open+1
	}
	if err := t.leaveTo(open); err != nil {
		return err
	}
	links, linked := 0, 0 // The first linked elements of todo come from the targets of links.
	for len(todo) > 0 {
		target, err := t.step(todo[0], create && linked == 0)
		if err != nil && linked > 0 {
			return fmt.Errorf("a symbolic link does not lead to a directory of the image: %w", fsx.Cause(err))
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
			return errors.New("too many symbolic links in the path")
		}
		todo, linked = append(parts, todo...), linked+len(parts)
	}
	return nil
}

// step makes the directory name, in the current directory, the current directory. If name
// is a symbolic link, step returns the link's target instead. If the target is absolute,
// step makes the root the current directory.
func (t *tree) step(name string, create bool) (target string, err error) {
	if name == ".." {
		if len(t.trail) == 1 {
			return "", errors.New("the path is outside of the root file system")
		}
		return "", t.leave()
	}
	info, err := t.current().Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return "", t.push(name, info.Mode(), info.ModTime())
	case err == nil && info.Mode().Type() == fs.ModeSymlink:
		if target, err = t.current().Readlink(name); err == nil && path.IsAbs(target) {
			err = t.leaveTo(1)
		}
		return target, err
	case err == nil && !create:
		return "", syscall.ENOENT // name is a file and not a directory.
	case err == nil || create && errors.Is(err, fs.ErrNotExist):
		return "", t.pushNew(name)
	default:
		return "", err
	}
}

// pushNew creates a directory that has no entry in a layer, and makes it the current
// directory.
func (t *tree) pushNew(name string) error {
	if err := t.count(1, 0); err != nil {
		return err
	}
	if err := t.replace(name, func() error { return t.current().Mkdir(name, 0o700) }); err != nil {
		return err
	}
	if err := t.describe(name, undescribed); err != nil {
		return err
	}
	return t.push(name, undescribed.mode, undescribed.mtime)
}

func (t *tree) push(name string, mode fs.FileMode, mtime time.Time) error {
	if len(t.trail) > t.limits.Depth {
		return fmt.Errorf("more than %d directories are nested", t.limits.Depth)
	}
	opened := mode&0o700 != 0o700
	if opened {
		if err := t.current().Chmod(name, mode|0o700); err != nil {
			return err
		}
	}
	dir, err := t.current().OpenRoot(name)
	if err != nil {
		return err
	}
	t.trail = append(t.trail, step{name, dir, mode, mtime, opened})
	return nil
}

func (t *tree) leave() error {
	last := t.trail[len(t.trail)-1]
	t.trail = t.trail[:len(t.trail)-1]
	return errors.Join(last.finish(), last.dir.Close())
}

// leaveTo leaves the innermost directories until depth directories are open.
func (t *tree) leaveTo(depth int) error {
	var err error
	for len(t.trail) > depth {
		err = errors.Join(err, t.leave())
	}
	return err
}

// finish applies the recorded time and mode of a directory. The mode may deny further
// access.
func (s step) finish() error {
	if err := s.dir.Chtimes(".", s.mtime, s.mtime); err != nil || !s.opened {
		return err
	}
	return s.dir.Chmod(".", s.mode)
}

// count adds to the totals of entries and of bytes in files. It returns an error if a limit
// is exceeded.
func (t *tree) count(entries int, size int64) error {
	t.entries += entries
	if t.entries > t.limits.Entries {
		return fmt.Errorf("this layer and the layers below it have more than %d entries", t.limits.Entries)
	}
	if size > t.limits.Bytes-t.content {
		return fmt.Errorf("the files of this layer and the layers below it have more than %d bytes", t.limits.Bytes)
	}
	t.content += size
	return nil
}

// replace calls create to create name in the current directory. If name exists, replace
// removes it and calls create again.
func (t *tree) replace(name string, create func() error) error {
	err := create()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := fsx.RemoveAll(t.current(), name); err != nil {
		return err
	}
	return create()
}

// split returns the elements of a path, without empty elements and ".".
func split(name string) []string {
	parts := strings.Split(name, "/")
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == "." })
}

// A made is the set of names that a layer has created in a directory. Its values are the
// sets of the subdirectories. Parent directories of created names are included.
type made map[string]made

func (m made) add(parts []string) {
	for _, p := range parts {
		if m[p] == nil {
			m[p] = made{}
		}
		m = m[p]
	}
}

// at returns the set for the directory at a path.
func (m made) at(parts []string) made {
	for _, p := range parts {
		m = m[p]
	}
	return m
}
