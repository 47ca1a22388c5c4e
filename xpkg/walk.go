package xpkg

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

const (
	// maxDepth is how deep the directories of a package root may be nested.
	maxDepth = 100
	// maxLinks is how many links a file may be reached by.
	maxLinks = 20

	hintFile = string("make it readable, or leave it out with " + hint.Ignore)
	hintLink = string("replace the link with its target, or leave it out with " + hint.Ignore)
)

// A walker finds the YAML files under a root.
type walker struct {
	fs afero.Fs
	// root is as the user named it, and abs the same from the top.
	root, abs string
	// except are the paths below the root of what is left out.
	except []string
	ignore ignored
	files  []file
	found  Problems
}

// A file is one to read, of so many bytes.
type file struct {
	path string
	size int64
}

// yamlFiles returns the files below root that end in .yaml or .yml and are not
// empty, in byte order of the names in each directory. What lies under except
// is left out, as are files and directories that match a pattern of ignore. A
// root that is a file is the only result, of whatever name.
func yamlFiles(fsys afero.Fs, root string, except, ignore []string) ([]file, Problems, error) {
	info, err := fsys.Stat(root)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %q: %w", root, fsx.Cause(err))
	}
	w := &walker{fs: fsys, root: filepath.Clean(root)}
	if !info.IsDir() {
		w.take(root, info)
		return w.files, w.found, nil
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, fmt.Errorf("finding %q: %w", root, err)
	}
	w.abs = abs
	for _, dir := range except {
		out, err := filepath.Abs(dir)
		if err != nil {
			return nil, nil, fmt.Errorf("finding %q: %w", dir, err)
		}
		if within(out, abs) {
			return nil, nil, nil
		}
		if within(abs, out) {
			rel, _ := filepath.Rel(abs, out)
			w.except = append(w.except, rel)
		}
	}
	for _, pattern := range ignore {
		if err := w.ignore.add(pattern, w.root, abs); err != nil {
			return nil, nil, fmt.Errorf("reading the pattern %q to ignore: %w", pattern, err)
		}
	}
	w.walk("", 0)
	return w.files, w.found, nil
}

// walk takes the files of a directory, which is named from the root.
func (w *walker) walk(dir string, depth int) {
	at := filepath.Join(w.root, dir)
	if depth > maxDepth {
		w.refuse("file", at, fmt.Sprintf("directories are nested more than %d deep", maxDepth), hintFile)
		return
	}
	entries, err := afero.ReadDir(w.fs, at)
	if err != nil {
		w.refuse("file", at, "it cannot be read: "+fsx.Cause(err).Error(), hintFile)
		return
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); !slices.Contains(w.except, path) && !w.ignore.match(path) {
			w.visit(path, e, depth)
		}
	}
}

func (w *walker) visit(path string, e fs.FileInfo, depth int) {
	at := filepath.Join(w.root, path)
	switch {
	case e.IsDir():
		w.walk(path, depth+1)
	case e.Mode()&fs.ModeSymlink != 0:
		w.follow(at)
	case isYAML(path):
		w.take(at, e)
	}
}

// take takes a file that is not empty.
func (w *walker) take(path string, info fs.FileInfo) {
	switch {
	case !info.Mode().IsRegular():
		w.lose("file", path, "it is not a regular file", hintFile)
	case info.Size() > 0:
		w.files = append(w.files, file{path, info.Size()})
	}
}

// lose notes a file or directory that would be missing in the package, and
// refuse one that no level passes over.
func (w *walker) lose(rule, path, text, hint string) {
	w.found = append(w.found, Problem{Rule: rule, Path: path, Text: text, Hint: hint})
}

func (w *walker) refuse(rule, path, text, hint string) {
	w.found = append(w.found, Problem{Rule: rule, Refused: true, Path: path, Text: text, Hint: hint})
}

// follow takes the file that a link leads to, if it is in the root and every
// directory on the way is a real one.
func (w *walker) follow(path string) {
	info, err := w.fs.Stat(path)
	switch {
	case err == nil && info.IsDir():
		w.lose("link", path, "it is a link to a directory, which is not followed", hintLink)
		return
	case !isYAML(path):
		return
	case err != nil:
		w.lose("link", path, "it is a link to nothing: "+fsx.Cause(err).Error(), hintLink)
		return
	}
	if err := w.resolve(path); err != nil {
		w.refuse("link", path, err.Error(), hintLink)
		return
	}
	w.take(path, info)
}

func (w *walker) resolve(path string) error {
	links, ok := w.fs.(afero.LinkReader)
	if !ok {
		return errors.New("it is a link that cannot be read")
	}
	at := path
	for range maxLinks {
		target, err := links.ReadlinkIfPossible(at)
		if err != nil {
			return fmt.Errorf("reading the link %q: %w", at, fsx.Cause(err))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		at = filepath.Clean(target)
		if link, err := w.insideRoot(at); err != nil || !link {
			return err
		}
	}
	return errors.New("it is a link that never ends")
}

var errOutside = errors.New("it is a link that leads out of the root")

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
			return false, fmt.Errorf("reading %q: %w", at, fsx.Cause(err))
		}
		link = info.Mode()&fs.ModeSymlink != 0
	}
	return link, nil
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
