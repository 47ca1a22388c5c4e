package runtimeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// A lister lists the files that become a layer.
type lister struct {
	root   *os.Root
	ignore fsx.Ignore
	// follow decides about a symbolic link. Nil means that links are kept.
	follow func(link string) (target string, err error)

	nodes []node
	seen  int // how many files and directories were visited
	size  int64
}

// list returns the files in the directory dir of root, which must not be empty. The files
// of a directory are sorted by name. follow returns the path in root to which the link at a
// path leads, or "" to leave the link out. If follow is nil, list keeps links as they are.
func list(ctx context.Context, root *os.Root, dir string, follow func(link string) (string, error)) ([]node, error) {
	l := &lister{root: root, follow: follow}
	var err error
	l.ignore, err = fsx.ReadIgnore(func(name string) (fs.File, error) { return root.Open(filepath.Join(dir, name)) })
	if err != nil {
		return nil, err
	}
	if err := l.folder(ctx, step{file: dir}); err != nil {
		return nil, err
	}
	if len(l.nodes) == 0 {
		return nil, hint.Wrap(errors.New("the directory is empty"), "put the function into the directory first")
	}
	return l.nodes, nil
}

// A step is a directory to list.
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
	n := node{name: path.Join(s.name, d.Name()), file: filepath.Join(s.file, d.Name()), kind: d.Type()}
	// A temporary file may be the package that is being built.
	if fsx.IsTemporary(d.Name()) || leftOut(d) || l.ignore.Match(n.name, d.IsDir()) {
		return nil
	}
	if l.seen++; l.seen > MaxFiles {
		return fmt.Errorf("the directory has more than %d files", MaxFiles)
	}
	if n.kind == fs.ModeSymlink && l.follow != nil {
		return l.link(ctx, s, n)
	}
	return l.add(ctx, s, n, d.Info)
}

// link adds the file or directory to which a link leads.
func (l *lister) link(ctx context.Context, s step, n node) error {
	target, err := l.follow(n.file)
	if err != nil || target == "" {
		return err
	}
	info, err := l.root.Stat(target)
	if err != nil {
		return fmt.Errorf("reading %q: %w", n.name, fsx.Cause(err))
	}
	n.file, n.kind, s.linked = target, info.Mode().Type(), true
	return l.add(ctx, s, n, func() (fs.FileInfo, error) { return info, nil })
}

func (l *lister) add(ctx context.Context, s step, n node, stat func() (fs.FileInfo, error)) error {
	info, err := l.check(&n, stat)
	if err != nil {
		return err
	}
	if !n.kind.IsDir() || !s.linked {
		l.nodes = append(l.nodes, n)
	}
	if n.kind.IsDir() {
		s.file, s.name = n.file, n.name
		return l.folder(ctx, s)
	}
	if info != nil {
		l.size += info.Size()
	}
	if l.size > MaxBytes {
		return fmt.Errorf("the files of the directory are larger than %d GiB", MaxBytes>>30)
	}
	return nil
}

// check returns an error for a file that cannot be in a layer. It returns the attributes of
// a regular file, and completes n.
func (l *lister) check(n *node, stat func() (fs.FileInfo, error)) (fs.FileInfo, error) {
	switch {
	case strings.HasPrefix(path.Base(n.name), oci.Whiteout):
		return nil, fmt.Errorf("the name of file %q would mark another file as deleted in an image", n.name)
	case path.Ext(n.name) == ".xpkg" && n.kind == 0:
		return nil, hint.Wrap(fmt.Errorf("file %q is a package, which each new package would contain", n.name), "write packages to another directory, by -o")
	}
	switch n.kind {
	case fs.ModeDir:
		return nil, nil
	case fs.ModeSymlink:
		link, err := l.root.Readlink(n.file)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", n.name, fsx.Cause(err))
		}
		n.link = filepath.ToSlash(link)
		return nil, nil
	case 0:
		info, err := stat()
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", n.name, fsx.Cause(err))
		}
		n.executable = info.Mode()&0o100 != 0
		return info, nil
	default:
		return nil, hint.Wrap(fmt.Errorf("file %q is a %s, which an image cannot contain", n.name, kindOf(n.kind)), "remove it from the directory")
	}
}
