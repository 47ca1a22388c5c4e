package scaffold

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// A file is one entry of a template: a file, a folder or a symbolic link.
type file struct {
	// path is slash-separated, and leads out of no directory.
	path string
	// mode is 0644 or 0755, fs.ModeDir or fs.ModeSymlink.
	mode fs.FileMode
	// size and open are for a file only.
	size int64
	open func() (io.ReadCloser, error)
	// link is what a symbolic link holds.
	link string
}

const (
	// The longest path that Linux takes, and so the longest link.
	maxPath = 4096
	// Each folder on the way costs stack here and a descriptor there.
	maxDepth = 128
)

// A walker lists a git tree. Trees come from strangers and may have been made
// by hand, to say what git itself would never write.
type walker struct {
	ctx                 context.Context
	objects             storer.EncodedObjectStorer
	maxFiles            int
	maxBytes, bytesLeft int64
	warn                func(text string)
	files               []file
}

// walk adds what is below the tree called hash, which stands at dir.
func (w *walker) walk(hash plumbing.Hash, dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%q lies deeper than the %d folders that are allowed", dir, maxDepth)
	}
	tree, err := object.GetTree(w.objects, hash)
	if err != nil {
		return fmt.Errorf("reading folder %q: %w", dir, err)
	}
	seen := make(map[string]bool, len(tree.Entries))
	for _, e := range tree.Entries {
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		if err := checkEntry(e.Name); err != nil {
			return fmt.Errorf("folder %q: %w", dir, err)
		}
		if seen[e.Name] {
			return fmt.Errorf("folder %q holds %q twice", dir, e.Name)
		}
		seen[e.Name] = true
		if err := w.add(e, path.Join(dir, e.Name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) add(e object.TreeEntry, at string, depth int) error {
	if len(w.files) == w.maxFiles {
		return fmt.Errorf("it has more than the %d files that are allowed", w.maxFiles)
	}
	if len(at) > maxPath {
		return fmt.Errorf("a path is longer than the %d bytes that are allowed: %q…", maxPath, at[:64])
	}
	switch e.Mode {
	case filemode.Dir:
		w.files = append(w.files, file{path: at, mode: fs.ModeDir})
		return w.walk(e.Hash, at, depth+1)
	case filemode.Submodule:
		w.files = append(w.files, file{path: at, mode: fs.ModeDir})
		w.warn(fmt.Sprintf("%q is a git submodule, which is not fetched: the folder is empty", at))
		return nil
	case filemode.Regular, filemode.Deprecated:
		return w.addBlob(e.Hash, file{path: at, mode: 0o644})
	case filemode.Executable:
		return w.addBlob(e.Hash, file{path: at, mode: 0o755})
	case filemode.Symlink:
		return w.addBlob(e.Hash, file{path: at, mode: fs.ModeSymlink})
	default:
		return fmt.Errorf("%q is of a kind that git does not have: mode %s", at, e.Mode)
	}
}

func (w *walker) addBlob(hash plumbing.Hash, f file) error {
	size, err := w.objects.EncodedObjectSize(hash)
	if err != nil {
		return fmt.Errorf("reading %q: %w", f.path, err)
	}
	if w.bytesLeft -= size; size < 0 || w.bytesLeft < 0 {
		return fmt.Errorf("its files are larger than the %d bytes that are allowed", w.maxBytes)
	}
	f.size = size
	f.open = func() (io.ReadCloser, error) {
		blob, err := object.GetBlob(w.objects, hash)
		if err != nil {
			return nil, err
		}
		return blob.Reader()
	}
	if f.mode == fs.ModeSymlink {
		if f.link, err = linkOf(f); err != nil {
			return fmt.Errorf("reading link %q: %w", f.path, err)
		}
	}
	w.files = append(w.files, f)
	return nil
}

func linkOf(f file) (string, error) {
	if f.size > maxPath {
		return "", fmt.Errorf("it is longer than the %d bytes that are allowed", maxPath)
	}
	r, err := f.open()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxPath))
	if err != nil {
		return "", err
	}
	return string(data), r.Close()
}

// checkEntry refuses names that lead elsewhere on some system, and those that
// some system takes for .git, whose hooks and configuration git obeys.
func checkEntry(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%q is not a file name", name)
	}
	if isDotGit(name) {
		return fmt.Errorf("%q can stand for .git, and a template must not bring one", name)
	}
	return nil
}

// isDotGit knows the names that open .git on file systems that ignore case
// (most of macOS and Windows), some invisible runes (HFS+), or trailing dots,
// spaces and streams (NTFS, where git~1 is its short name). They are those that
// git refuses too (core.protectHFS, core.protectNTFS).
func isDotGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// warnOfLinks tells of links that lead out of the directory.
func warnOfLinks(warn func(text string), files []file) {
	for _, f := range files {
		if f.mode == fs.ModeSymlink && leadsOut(f) {
			warn(fmt.Sprintf("symbolic link %q leads out of the directory, to %q", f.path, f.link))
		}
	}
}

// leadsOut goes by the text of the link alone, on any system.
func leadsOut(link file) bool {
	to := strings.ReplaceAll(link.link, `\`, "/")
	if path.IsAbs(to) || filepath.VolumeName(link.link) != "" {
		return true
	}
	return !filepath.IsLocal(path.Join(path.Dir(link.path), to))
}
