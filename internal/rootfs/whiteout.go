package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// What begins with hide in a layer says what of the layers below it is gone
// (OCI image spec, "Whiteouts"): hide and a name that name, opaque all of the
// directory. Others that begin with hide twice are AUFS's own.
const (
	hide   = ".wh."
	opaque = hide + hide + ".opq"
)

// whiteout hides what lower layers have, and nothing that this one has made.
func (t *tree) whiteout(dir, name string) error {
	hidden := strings.TrimPrefix(name, hide)
	if name != opaque && strings.HasPrefix(hidden, hide) {
		return nil
	}
	if hidden == "" || hidden == "." || hidden == ".." {
		return errors.New("it hides no file")
	}
	if err := t.enter(dir, false); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	// Once is enough: an image may have many of the same, and each would have
	// to look at the whole directory.
	at := t.path(name)
	keep := t.made.at(at[:len(at)-1])
	if _, done := keep[name]; done {
		return nil
	}
	t.made.add(at)
	if name == opaque {
		return t.clear(keep)
	}
	return t.remove(hidden, keep)
}

// remove removes a name from the current directory, but for what is to be kept.
func (t *tree) remove(name string, keep made) error {
	below, kept := keep[name]
	if !kept {
		return removeAll(t.here(), name)
	}
	info, err := t.here().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.push(name, info.Mode(), info.ModTime()); err != nil {
		return err
	}
	return errors.Join(t.clear(below), t.leave())
}

// clear removes what the current directory has, but for what is to be kept.
func (t *tree) clear(keep made) error {
	names, err := list(t.here())
	for _, n := range names {
		if err != nil {
			return err
		}
		err = t.remove(n, keep)
	}
	return err
}

func list(dir *os.Root) (names []string, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

// removeAll removes a file, or a directory with all that it has, even if it
// keeps its owner from doing so. One that is not there is no error.
func removeAll(dir *os.Root, name string) error {
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, statErr := dir.Lstat(name)
	if statErr != nil || !info.IsDir() {
		return err
	}
	if err := dir.Chmod(name, 0o700); err != nil {
		return err
	}
	if err := removeContent(dir, name); err != nil {
		return err
	}
	return dir.Remove(name)
}

func removeContent(parent *os.Root, name string) (err error) {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := list(dir)
	for _, n := range names {
		if err != nil {
			return err
		}
		err = removeAll(dir, n)
	}
	return err
}
