package rootfs

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

func (t *tree) apply(h *tar.Header, content io.Reader) error {
	if size := max(len(h.Name), len(h.Linkname)); size > t.limits.PathBytes {
		return fmt.Errorf("an entry has a path of %d bytes, more than the limit of %d", size, t.limits.PathBytes)
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := inside(h.Name)
	if err == nil {
		err = t.count(1, 0)
	}
	if err == nil {
		err = t.put(name, h, content)
	}
	if err != nil {
		return fmt.Errorf("unpacking %q: %w", h.Name, fsx.Cause(err))
	}
	return nil
}

// inside returns the path of a tar entry relative to the root. It returns an error if the
// entry is outside of the root.
func inside(name string) (string, error) {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("the path is outside of the root file system")
	}
	return clean, nil
}

func (t *tree) put(name string, h *tar.Header, content io.Reader) error {
	if name == "." && h.Typeflag != tar.TypeDir {
		return errors.New("the root must be a directory")
	}
	if name == "." {
		return t.describeRoot(describe(h))
	}
	dir, base := path.Split(name)
	if strings.HasPrefix(base, oci.Whiteout) {
		return t.whiteout(dir, base)
	}
	if h.Typeflag == tar.TypeLink {
		return t.putHardLink(dir, base, h.Linkname)
	}
	if err := t.enter(dir, true); err != nil {
		return err
	}
	t.made.add(t.path(base))
	switch h.Typeflag {
	case tar.TypeDir:
		return t.putDir(base, describe(h))
	case tar.TypeReg, tar.TypeGNUSparse:
		return t.putFile(base, describe(h), h.Size, content)
	case tar.TypeSymlink:
		return t.putLink(base, h)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return fsx.RemoveAll(t.current(), base) // The device or pipe is not created, but the file with its name is removed.
	default:
		return fmt.Errorf("unknown entry type %q", h.Typeflag)
	}
}

// A description is the metadata of a file or directory.
type description struct {
	uid, gid int // the owner in the tar header
	mode     fs.FileMode
	mtime    time.Time
}

// undescribed is the metadata of a directory that has no entry in a layer.
var undescribed = description{mode: 0o755, mtime: time.Unix(0, 0)}

// latest limits modification times, in seconds since 1970. A time of latest or later is
// replaced by 1970. The latest time that file systems support is between the years 2106 and
// 2486.
const latest = 1 << 32

func describe(h *tar.Header) description {
	d := description{uid: h.Uid, gid: h.Gid, mode: fs.FileMode(h.Mode).Perm(), mtime: h.ModTime}
	if h.Typeflag == tar.TypeDir {
		d.mode |= h.FileInfo().Mode() & fs.ModeSticky
	}
	if s := d.mtime.Unix(); s < 0 || s >= latest {
		d.mtime = undescribed.mtime
	}
	return d
}

func (t *tree) describe(name string, d description) error {
	if err := t.own(name, d); err != nil {
		return err
	}
	if err := t.current().Chmod(name, d.mode); err != nil {
		return err
	}
	return t.current().Chtimes(name, d.mtime, d.mtime)
}

func (t *tree) own(name string, d description) error {
	if t.owner == nil {
		return nil
	}
	uid, gid := t.owner.of(d.uid, d.gid)
	return t.current().Lchown(name, uid, gid)
}

// describeRoot records the metadata of the root directory. finish applies the metadata.
func (t *tree) describeRoot(d description) error {
	if err := t.leaveTo(1); err != nil {
		return err
	}
	top := &t.trail[0]
	top.mode, top.mtime, top.opened = d.mode, d.mtime, true
	return t.own(".", d)
}

// putDir creates the directory name with the metadata d. If the directory exists, putDir
// keeps its content.
func (t *tree) putDir(name string, d description) error {
	info, err := t.current().Lstat(name)
	if err != nil || !info.IsDir() {
		err = t.replace(name, func() error { return t.current().Mkdir(name, 0o700) })
	}
	if err != nil {
		return err
	}
	return t.describe(name, d)
}

func (t *tree) putLink(name string, h *tar.Header) error {
	err := t.replace(name, func() error { return t.current().Symlink(h.Linkname, name) })
	if err != nil {
		return err
	}
	return t.own(name, describe(h))
}

// putHardLink links name in dir to the image's file target. Symbolic links are followed in
// the directory of target, but not at its last element: the link itself is linked.
func (t *tree) putHardLink(dir, name, target string) error {
	file, err := inside(target)
	if err == nil {
		err = t.enter(path.Dir(file), false)
	}
	if err != nil {
		return fmt.Errorf("linking to %q: %w", target, fsx.Cause(err))
	}
	from := path.Join(t.path(path.Base(file))...)
	if err := t.enter(dir, true); err != nil {
		return err
	}
	to := t.path(name)
	t.made.add(to)
	top := t.trail[0].dir
	info, err := top.Lstat(from)
	if err != nil || info.IsDir() {
		return fmt.Errorf("linking to %q: the image has no such file", target)
	}
	if from == path.Join(to...) {
		return nil
	}
	return t.replace(name, func() error { return top.Link(from, path.Join(to...)) })
}

func (t *tree) putFile(name string, d description, size int64, content io.Reader) error {
	if err := t.count(0, size); err != nil {
		return err
	}
	err := t.replace(name, func() (err error) {
		f, err := t.current().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := t.fill(f, size, content); err != nil {
			return err
		}
		if err := t.own(name, d); err != nil {
			return err
		}
		return f.Chmod(d.mode)
	})
	if err != nil {
		return err
	}
	return t.current().Chtimes(name, d.mtime, d.mtime)
}

// zeros is a block of zeros, to recognize blocks that can become holes.
var zeros [64 << 10]byte

// fill writes size bytes of content to a file. It makes blocks of zeros holes, so that a
// sparse file needs little disk space.
func (t *tree) fill(f *os.File, size int64, content io.Reader) error {
	hole := false
	for left := size; left > 0; {
		block := t.buffer[:min(left, int64(len(t.buffer)))]
		if _, err := io.ReadFull(content, block); err != nil {
			return err
		}
		left -= int64(len(block))
		var err error
		if hole = string(block) == string(zeros[:len(block)]); hole {
			_, err = f.Seek(int64(len(block)), io.SeekCurrent)
		} else {
			_, err = f.Write(block)
		}
		if err != nil {
			return err
		}
	}
	if hole {
		return f.Truncate(size)
	}
	return nil
}

// whiteout applies the whiteout entry name in dir. It removes files of the layers below, but
// not files that the same layer has created. It ignores names that are internal to AUFS.
func (t *tree) whiteout(dir, name string) error {
	hidden := strings.TrimPrefix(name, oci.Whiteout)
	if name != oci.Opaque && strings.HasPrefix(hidden, oci.Whiteout) {
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
	// A repeated whiteout is skipped: it has no effect, but would read the whole directory.
	at := t.path(name)
	keep := t.made.at(at[:len(at)-1])
	if _, done := keep[name]; done {
		return nil
	}
	t.made.add(at)
	if name == oci.Opaque {
		return t.clear(keep)
	}
	return t.remove(hidden, keep)
}

// remove removes a name from the current directory, except the files below it that are in
// keep.
func (t *tree) remove(name string, keep made) error {
	below, kept := keep[name]
	if !kept {
		return fsx.RemoveAll(t.current(), name)
	}
	info, err := t.current().Lstat(name)
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

// clear removes all names from the current directory, except those in keep.
func (t *tree) clear(keep made) error {
	names, err := fsx.ReadNames(t.current())
	for _, n := range names {
		if err != nil {
			return err
		}
		err = t.remove(n, keep)
	}
	return err
}
