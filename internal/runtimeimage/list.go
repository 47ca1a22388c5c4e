package runtimeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

type lister struct {
	root   *os.Root
	ignore fsx.Ignore
	// follow decides about a symbolic link. Nil means that links are kept.
	follow func(link string) (target string, err error)

	files []TarFile
	seen  int // how many files and directories were visited
	size  int64
}

// list returns the files in the directory dir below root, which must not be empty. Their paths are
// relative to dir, and the files of a directory are sorted by name. follow returns the path below root
// to which the link at a path leads, or "" to leave the link out. If follow is nil, list keeps links as
// they are.
func list(ctx context.Context, root, dir string, follow func(link string) (string, error)) (_ []TarFile, err error) {
	l := &lister{follow: follow}
	if l.root, err = openRoot(root); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.root.Close()) }()
	l.ignore, err = fsx.ReadIgnore(func(name string) (fs.File, error) { return l.root.Open(filepath.Join(dir, name)) })
	if err != nil {
		return nil, err
	}
	if err := l.folder(ctx, step{file: dir}); err != nil {
		return nil, err
	}
	if len(l.files) == 0 {
		return nil, hint.Wrap(errors.New("the directory is empty"), "put the function into the directory first")
	}
	return l.files, nil
}

type step struct {
	// file is the path in the root, and name the path in the layer.
	file, name string
	// linked is true below a link. Directories there are not files of the layer.
	linked bool
	// above are the directories that lead to this one.
	above []string
}

func (l *lister) folder(ctx context.Context, s step) error {
	if slices.Contains(s.above, s.file) {
		return fmt.Errorf("the symbolic link %q leads to a directory that contains it", s.name)
	}
	s.above = append(slices.Clip(s.above), s.file)
	f, err := l.root.Open(s.file)
	if err != nil {
		return fmt.Errorf("reading %q: %w", cmp.Or(s.name, "."), fsx.Cause(err))
	}
	entries, err := f.ReadDir(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("reading %q: %w", cmp.Or(s.name, "."), fsx.Cause(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := l.entry(ctx, s, e); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) entry(ctx context.Context, s step, d fs.DirEntry) error {
	name, file, kind, stat := path.Join(s.name, d.Name()), filepath.Join(s.file, d.Name()), d.Type(), d.Info
	// A temporary file may be the package that is being built.
	if fsx.IsTemporary(d.Name()) || leftOut(d) || l.ignore.Match(name, d.IsDir()) {
		return nil
	}
	if l.seen++; l.seen > MaxFiles {
		return fmt.Errorf("the directory has more than %d files", MaxFiles)
	}
	unread := func(err error) error { return fmt.Errorf("reading %q: %w", name, fsx.Cause(err)) }
	if kind == fs.ModeSymlink && l.follow != nil {
		target, err := l.follow(file)
		if err != nil || target == "" {
			return err
		}
		info, err := l.root.Stat(target)
		if err != nil {
			return unread(err)
		}
		file, kind, s.linked, stat = target, info.Mode().Type(), true, func() (fs.FileInfo, error) { return info, nil }
	}
	switch {
	case strings.HasPrefix(d.Name(), oci.Whiteout):
		return fmt.Errorf("the name of file %q would mark another file as deleted in an image", name)
	case path.Ext(name) == ".xpkg" && kind == 0:
		return hint.Wrap(fmt.Errorf("file %q is a package, which each new package would contain", name), "write packages to another directory")
	}
	f := TarFile{Path: name, Mode: 0o644}
	switch kind {
	case fs.ModeDir:
		if !s.linked {
			l.files = append(l.files, TarFile{Path: name + "/", Mode: 0o755})
		}
		s.file, s.name = file, name
		return l.folder(ctx, s)
	case fs.ModeSymlink:
		link, err := l.root.Readlink(file)
		if err != nil {
			return unread(err)
		}
		f.Link = filepath.ToSlash(link)
	case 0:
		info, err := stat()
		if err != nil {
			return unread(err)
		}
		f.Open = func() (io.ReadCloser, error) { return os.OpenInRoot(l.root.Name(), file) }
		f.Mode = ModeOf(info, f.Open)
		if l.size += info.Size(); l.size > MaxBytes {
			return fmt.Errorf("the files of the directory are larger than %d GiB", MaxBytes>>30)
		}
	default:
		return hint.Wrap(fmt.Errorf("file %q is a %s, which an image cannot contain", name, kindOf(kind)), "remove it from the directory")
	}
	l.files = append(l.files, f)
	return nil
}
