package rootfs

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
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

// clear removes what the current directory has, but for what is to be kept.
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
