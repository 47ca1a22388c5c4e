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
	"github.com/xfn-dev/xfn/internal/manifest"
)

const (
	// maxDepth limits nested directories, and maxLinks a chain of links that lead to links.
	maxDepth = 100
	maxLinks = 20

	// sourceOfMeta is the usual name of the file with the metadata of a package.
	sourceOfMeta = "crossplane.yaml"

	hintFile = string("make it readable, or leave it out with " + hint.Ignore)
	hintLink = string("replace the link with its target, or leave it out with " + hint.Ignore)
)

// A walker finds the YAML files under a root.
type walker struct {
	*rootReader
	// root is as the user named it, and abs is its absolute path.
	root, abs string
	// except are paths to leave out, relative to the root.
	except []string
	ignore ignored
	// listed are the patterns of the root's fsx.IgnoreFile.
	listed fsx.Ignore
	files  []file
}

// A file is the path and the size of a file.
type file struct {
	path string
	size int64
}

// yamlFiles returns the files below root that end in .yaml or .yml and are not
// empty, in byte order of the names in each directory, without those under
// except or matched by ignore or by the root's fsx.IgnoreFile. If root is a file, it is the only result.
func (r *rootReader) yamlFiles(root string, except, ignore []string) ([]file, error) {
	info, err := r.fs.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", root, fsx.Cause(err))
	}
	w := &walker{rootReader: r, root: filepath.Clean(root)}
	if !info.IsDir() {
		w.add(root, info)
		return w.files, nil
	}
	if w.abs, err = filepath.Abs(root); err != nil {
		return nil, fmt.Errorf("finding %q: %w", root, err)
	}
	for _, dir := range except {
		out, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("finding %q: %w", dir, err)
		}
		if fsx.IsWithin(out, w.abs) {
			return nil, nil
		}
		if rel, err := filepath.Rel(w.abs, out); err == nil {
			w.except = append(w.except, rel)
		}
	}
	for _, pattern := range ignore {
		if err := w.ignore.add(pattern, w.root, w.abs); err != nil {
			return nil, fmt.Errorf("reading the pattern %q to ignore: %w", pattern, err)
		}
	}
	open := func(name string) (fs.File, error) { return r.fs.Open(filepath.Join(root, name)) }
	if w.listed, err = fsx.ReadIgnore(open); err != nil {
		return nil, fmt.Errorf("reading %q: %w", root, err)
	}
	w.walk("", 0)
	return w.files, nil
}

// walk adds the files of a directory below the root.
func (w *walker) walk(dir string, depth int) {
	at := filepath.Join(w.root, dir)
	if depth > maxDepth {
		w.refuse("file", at, fmt.Sprintf("directories are nested more than %d deep", maxDepth), hintFile)
		return
	}
	entries, err := afero.ReadDir(w.fs, at)
	if err != nil {
		w.refuse("file", at, "cannot be read: "+fsx.Cause(err).Error(), hintFile)
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		at := filepath.Join(w.root, path)
		switch {
		case slices.Contains(w.except, path):
		case w.ignore.match(path, e.IsDir()) || w.listed.Match(filepath.ToSlash(path), e.IsDir()):
			if path == sourceOfMeta {
				w.lost = Problem{Text: at + " is left out by a pattern", Hint: string("change the pattern in " + hint.Ignore + " or in " + fsx.IgnoreFile)}
			}
		case e.IsDir():
			w.walk(path, depth+1)
		case e.Mode()&fs.ModeSymlink != 0:
			w.follow(at)
		case manifest.IsYAML(path):
			w.add(at, e)
		}
	}
}

func (w *walker) add(path string, info fs.FileInfo) {
	switch {
	case !info.Mode().IsRegular():
		w.omit("file", path, "not a regular file", hintFile)
	case info.Size() > 0:
		w.files = append(w.files, file{path, info.Size()})
	case filepath.Base(path) == sourceOfMeta:
		w.lost = Problem{Text: path + " is empty"}
	}
}

// omit adds a problem with a file that the package leaves out. It is an error
// only at the level Strict.
func (r *rootReader) omit(rule, path, text, hint string) {
	r.found = append(r.found, Problem{Rule: rule, Path: path, Text: text, Hint: hint})
}

// refuse adds a problem that is an error at every level.
func (r *rootReader) refuse(rule, path, text, hint string) {
	r.found = append(r.found, Problem{Rule: rule, Refused: true, Path: path, Text: text, Hint: hint})
}

// follow adds the YAML file that a link leads to.
func (w *walker) follow(path string) {
	info, err := w.fs.Stat(path)
	switch {
	case err == nil && info.IsDir():
		w.omit("link", path, "the link leads to a directory, and links to directories are not followed", hintLink)
	case !manifest.IsYAML(path):
	case err != nil:
		w.omit("link", path, "the target of the link cannot be read: "+fsx.Cause(err).Error(), hintLink)
	default:
		if err := w.resolve(path); err != nil {
			w.refuse("link", path, err.Error(), hintLink)
			return
		}
		w.add(path, info)
	}
}

// A linkReader is a file system with symbolic links.
type linkReader interface {
	afero.Lstater
	afero.LinkReader
}

// resolve returns an error unless all targets of a chain of links are in the root.
func (w *walker) resolve(path string) error {
	links, ok := w.fs.(linkReader)
	if !ok {
		return errors.New("the link cannot be read")
	}
	for range maxLinks {
		target, err := links.ReadlinkIfPossible(path)
		if err != nil {
			return fmt.Errorf("reading the link %q: %w", path, fsx.Cause(err))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
		if link, err := w.insideRoot(links, path); err != nil || !link {
			return err
		}
	}
	return fmt.Errorf("the link is part of a cycle, or of a chain of more than %d links", maxLinks)
}

// insideRoot reports whether path is a link. A path outside of the root or
// through a linked directory is an error.
func (w *walker) insideRoot(links afero.Lstater, path string) (link bool, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false, fmt.Errorf("finding %q: %w", path, err)
	}
	outside := errors.New("the link leads out of the root")
	rel, err := filepath.Rel(w.abs, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return false, outside
	}
	at := w.root
	for _, part := range strings.Split(rel, separator) {
		if link {
			return false, outside
		}
		at = filepath.Join(at, part)
		info, _, err := links.LstatIfPossible(at)
		if err != nil {
			return false, fmt.Errorf("reading %q: %w", at, fsx.Cause(err))
		}
		link = info.Mode()&fs.ModeSymlink != 0
	}
	return link, nil
}

const separator = string(filepath.Separator)

type ignored []ignoredPattern

type ignoredPattern struct {
	// parts is the pattern, split at its separators.
	parts []string
	// dirs is true if the pattern also matches directories: if it ends in a separator or in "**", or if
	// its last part has no wildcard. In the crossplane CLI, a pattern with a wildcard matches only files.
	dirs bool
}

// add adds a pattern relative to root, which has the absolute path abs.
func (i *ignored) add(pattern, root, abs string) error {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return err
	}
	rel, err := filepath.Rel(abs, filepath.Join(abs, pattern))
	if err != nil {
		return err
	}
	patterns := []string{rel}
	for _, dir := range []string{root, abs} {
		if below, ok := strings.CutPrefix(filepath.Clean(pattern), dir+separator); ok {
			patterns = append(patterns, below)
		}
	}
	for _, p := range patterns {
		same := func(a, b string) bool { return a == "**" && b == "**" }
		parts := slices.CompactFunc(strings.Split(p, separator), same)
		last := parts[len(parts)-1]
		dirs := strings.HasSuffix(filepath.FromSlash(pattern), separator) || last == "**" || !strings.ContainsAny(last, "*?[")
		*i = append(*i, ignoredPattern{parts, dirs})
	}
	return nil
}

// match reports whether a pattern matches path, which has the separators of the system.
func (i ignored) match(path string, isDir bool) bool {
	parts := strings.Split(path, separator)
	return slices.ContainsFunc(i, func(p ignoredPattern) bool { return (p.dirs || !isDir) && matchParts(p.parts, parts) })
}

// matchParts is filepath.Match in which "**" matches any number of directories.
func matchParts(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], path) || len(path) > 0 && matchParts(pattern, path[1:])
	case len(path) == 0:
		return false
	}
	ok, err := filepath.Match(pattern[0], path[0])
	return ok && err == nil && matchParts(pattern[1:], path[1:])
}
