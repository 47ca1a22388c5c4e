package xpkg

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/ioerror"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/hint"
)

const (
	// maxDepth is how deep the directories of a package root may be nested.
	maxDepth = 100
	// maxLinks is how many links a file may be reached by.
	maxLinks = 20
)

// A walker finds the YAML files under a root.
type walker struct {
	fs afero.Fs
	// root is as the user named it, and abs the same from the top.
	root, abs string
	absent    string
	ignore    []string
	files     []string
}

// yamlFiles returns the files below root that end in .yaml or .yml and are not
// empty, in byte order of the names in each directory. What lies under except
// is left out, as are files that match a pattern of ignore. A root that is a
// file is the only result.
func yamlFiles(fsys afero.Fs, root, except string, ignore []string) ([]string, error) {
	if dir, err := afero.IsDir(fsys, root); err != nil {
		return nil, fmt.Errorf("reading %q: %w", root, ioerror.Cause(err))
	} else if !dir {
		return []string{root}, nil
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("finding %q: %w", root, err)
	}
	w := &walker{fs: fsys, root: filepath.Clean(root), abs: abs}
	if except != "" {
		abs, err := filepath.Abs(except)
		if err != nil {
			return nil, fmt.Errorf("finding %q: %w", except, err)
		}
		w.absent = abs
	}
	for _, pattern := range ignore {
		rel, err := w.relative(pattern)
		if err != nil {
			return nil, err
		}
		w.ignore = append(w.ignore, rel)
	}
	err = w.walk(w.root, 0)
	return w.files, err
}

// relative returns a pattern as it matches paths relative to the root, so that
// "./a" and "../root/a" do.
func (w *walker) relative(pattern string) (string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return "", fmt.Errorf("reading the pattern %q to ignore: %w", pattern, err)
	}
	rel, err := filepath.Rel(w.abs, filepath.Join(w.abs, pattern))
	if err != nil {
		return "", fmt.Errorf("reading the pattern %q to ignore: %w", pattern, err)
	}
	return rel, nil
}

func (w *walker) walk(dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("reading %q: directories are nested more than %d deep", dir, maxDepth)
	}
	entries, err := afero.ReadDir(w.fs, dir)
	if err != nil {
		return fmt.Errorf("reading %q: %w", dir, ioerror.Cause(err))
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		skip, err := w.skip(path)
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := w.visit(path, e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) visit(path string, e fs.FileInfo, depth int) error {
	switch {
	case e.IsDir():
		return w.walk(path, depth+1)
	case e.Mode()&fs.ModeSymlink != 0:
		return w.follow(path)
	case isYAML(path) && e.Size() > 0:
		w.files = append(w.files, path)
	case isYAML(path) && !e.Mode().IsRegular():
		return fmt.Errorf("reading %q: it is not a regular file", path)
	}
	return nil
}

// skip reports whether path is ignored, or part of the excepted directory.
func (w *walker) skip(path string) (bool, error) {
	if w.absent != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return false, fmt.Errorf("finding %q: %w", path, err)
		}
		if within(w.absent, abs) {
			return true, nil
		}
	}
	rel, err := filepath.Rel(w.root, path)
	if err != nil {
		return false, fmt.Errorf("finding %q: %w", path, err)
	}
	for _, pattern := range w.ignore {
		if ok, err := filepath.Match(pattern, rel); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// follow takes the file that a link leads to, if it is a regular file in the
// root and every directory on the way is a real one.
func (w *walker) follow(path string) error {
	info, err := w.fs.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return w.badLink(path, "is a link to a directory, which is not followed")
	case !isYAML(path):
		return nil
	case err != nil:
		return w.badLink(path, "is a link to nothing: "+ioerror.Cause(err).Error())
	}
	if err := w.resolve(path); err != nil {
		return err
	}
	if info.Size() > 0 || !info.Mode().IsRegular() {
		w.files = append(w.files, path)
	}
	return nil
}

func (w *walker) resolve(path string) error {
	links, ok := w.fs.(afero.LinkReader)
	if !ok {
		return w.badLink(path, "is a link that cannot be read")
	}
	at := path
	for range maxLinks {
		target, err := links.ReadlinkIfPossible(at)
		if err != nil {
			return fmt.Errorf("reading the link %q: %w", at, ioerror.Cause(err))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		at = filepath.Clean(target)
		link, err := w.insideRoot(at)
		if errors.Is(err, errOutside) {
			return w.badLink(path, "is a link that leads out of the root")
		}
		if err != nil || !link {
			return err
		}
	}
	return w.badLink(path, "is a link that never ends")
}

var errOutside = errors.New("outside of the root")

// insideRoot reports whether path is a link itself. It returns errOutside if
// path lies outside of the root, or a directory on the way to it is a link.
func (w *walker) insideRoot(path string) (link bool, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false, fmt.Errorf("finding %q: %w", path, err)
	}
	rel, err := filepath.Rel(w.abs, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return false, errOutside
	}
	at := w.root
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		if link {
			return false, errOutside
		}
		at = filepath.Join(at, part)
		info, err := lstat(w.fs, at)
		if err != nil {
			return false, fmt.Errorf("reading %q: %w", at, ioerror.Cause(err))
		}
		link = info.Mode()&fs.ModeSymlink != 0
	}
	return link, nil
}

func (w *walker) badLink(path, what string) error {
	return hint.Wrap(fmt.Errorf("%q %s", path, what), "replace the link by what it points at, or leave it out with --ignore")
}

func lstat(fsys afero.Fs, path string) (fs.FileInfo, error) {
	if l, ok := fsys.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(path)
		return info, err
	}
	return fsys.Stat(path)
}

// within reports whether path is dir or lies in it. Both are absolute.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}
