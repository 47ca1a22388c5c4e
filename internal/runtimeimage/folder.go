package runtimeimage

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A Folder is a directory with source that an interpreter in a base image reads.
type Folder struct {
	// Dir is the directory. Empty means an empty directory.
	Dir string
	// Root is the directory that links must not leave. Empty means Dir.
	Root string
	// At is the absolute path of the directory in the image.
	At string
	// Parents adds the directories above At.
	Parents bool
	// Mode is the mode of the directory At and of its parents. FileMode is the mode of all
	// files. Zero means that files are readable by all, and executable by all if their owner
	// may execute them.
	Mode, FileMode int64
	// FilesOnly leaves out the entries of directories below At.
	FilesOnly bool
	// Owner is the user and the group of all files.
	Owner int
	// FollowLinks adds the files to which links lead, in place of the links. A link that
	// leads nowhere is left out, with a warning. Otherwise links are an error.
	FollowLinks bool
}

// Layer lists the files of the folder, and returns the layer with them. Their modification
// time is zero. The list has the same limits and exceptions as the list of FromDir. As in
// layers of the crossplane CLI, names are absolute, and directories below links have no
// entries.
func (f Folder) Layer(ctx context.Context, report progress.Func) (_ Layer, err error) {
	if f.Dir == "" {
		return Layer{Key: f.At, Write: func(w io.Writer) error { return f.write(ctx, w, nil) }}, nil
	}
	report.Step("reading " + f.Dir)
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading the source in %q: %w", f.Dir, err)
		}
	}()
	dir, err := f.resolve()
	if err != nil {
		return Layer{}, err
	}
	files, err := list(ctx, f.Root, dir, func(link string) (string, error) { return f.target(link, report) })
	return Layer{Key: f.At, Write: func(w io.Writer) error { return f.write(ctx, w, files) }}, err
}

// resolve replaces f.Root by its path without links, and returns the path of f.Dir in it.
func (f *Folder) resolve() (string, error) {
	root, err := realPath(cmp.Or(f.Root, f.Dir))
	if err != nil {
		return "", err
	}
	dir, err := realPath(f.Dir)
	if err != nil {
		return "", err
	}
	f.Root = root
	rel, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the folder is outside of %q", root)
	}
	return rel, nil
}

func realPath(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	abs, err = filepath.EvalSymlinks(abs)
	return abs, fsx.Cause(err)
}

// target returns the path in the root to which the link at a path in the root leads.
func (f *Folder) target(link string, report progress.Func) (string, error) {
	if !f.FollowLinks {
		return "", hint.Wrap(fmt.Errorf("file %q is a symbolic link", link), "replace the link by the file")
	}
	target, err := filepath.EvalSymlinks(filepath.Join(f.Root, link))
	if errors.Is(err, fs.ErrNotExist) {
		report.Warn(fmt.Sprintf("the symbolic link %q is left out: it leads nowhere", filepath.Join(f.Root, link)))
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("following the symbolic link %q: %w", link, fsx.Cause(err))
	}
	rel, err := filepath.Rel(f.Root, target)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the symbolic link %q leads to %q, outside of %q", link, target, f.Root)
	}
	return rel, nil
}

func (f *Folder) write(ctx context.Context, w io.Writer, files []TarFile) error {
	tw, top := newTarWriter(ctx, w), []string{f.At}
	if f.Parents {
		top = parents(f.At)
	}
	for _, dir := range top {
		tw.add(dir, f.header(tar.TypeDir, dir, f.Mode), nil)
	}
	for _, n := range files {
		h := f.header(tar.TypeReg, path.Join(f.At, n.Path), cmp.Or(f.FileMode, n.Mode))
		if n.Open == nil {
			h.Typeflag, h.Mode = tar.TypeDir, n.Mode
		}
		if n.Open != nil || !f.FilesOnly {
			tw.add(n.Path, h, n.Open)
		}
	}
	return tw.close()
}

func (f *Folder) header(kind byte, name string, mode int64) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Uid: f.Owner, Gid: f.Owner}
}
