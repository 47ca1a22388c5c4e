package rootfs

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// Names with the prefix hide remove files of lower layers (OCI image spec,
// "Whiteouts"). hide and a name remove that name; opaque removes all content of
// the directory. Other names with a double prefix are internal to AUFS.
const (
	hide   = ".wh."
	opaque = hide + hide + ".opq"
)

// whiteout removes files of lower layers, but not files that this layer
// created.
func (t *tree) whiteout(dir, name string) error {
	hidden := strings.TrimPrefix(name, hide)
	if name != opaque && strings.HasPrefix(hidden, hide) {
		return nil
	}
	if hidden == "" || hidden == "." || hidden == ".." {
		return errors.New("the whiteout names no file")
	}
	if err := t.enter(dir, false); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	// Repeated whiteouts are ignored, because each would read the whole
	// directory.
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

// remove removes a name from the current directory, except for what keep
// contains.
func (t *tree) remove(name string, keep made) error {
	below, kept := keep[name]
	if !kept {
		return fsx.RemoveAll(t.here(), name)
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

// clear removes the content of the current directory, except for what keep
// contains.
func (t *tree) clear(keep made) error {
	names, err := fsx.ReadNames(t.here())
	for _, n := range names {
		if err != nil {
			return err
		}
		err = t.remove(n, keep)
	}
	return err
}
