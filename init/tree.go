package scaffold

import (
	"context"
	"errors"
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
	// path is relative to the template, and is separated by slashes.
	path string
	// mode is 0644 or 0755, fs.ModeDir or fs.ModeSymlink.
	mode fs.FileMode
	// size and open are set only for regular files.
	size int64
	open func() (io.ReadCloser, error)
	// link is the target of a symbolic link.
	link string
}

// read returns the content of a file. A file of more than most bytes is an error.
func (f file) read(most int64) (string, error) {
	if f.size > most {
		return "", fmt.Errorf("it is longer than the %d bytes that are allowed", most)
	}
	r, err := f.open()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(r, most))
	return string(data), errors.Join(err, r.Close())
}

const (
	// maxPath limits the bytes of a path and of a link, as Linux does.
	maxPath = 4096
	// maxDepth limits the depth of nested folders, because each level needs stack and a file
	// descriptor.
	maxDepth = 128
)

// A walker lists an untrusted git tree, which may have entries that git never writes.
type walker struct {
	ctx                 context.Context
	objects             storer.EncodedObjectStorer
	maxFiles            int
	maxBytes, bytesLeft int64
	warn                func(text string)
	files               []file
}

// walk adds the entries of a git tree. dir is the path of the tree in the template.
func (w *walker) walk(hash plumbing.Hash, dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("folder %q is nested deeper than %d folders", dir, maxDepth)
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
			return fmt.Errorf("folder %q contains %q twice", dir, e.Name)
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
		return fmt.Errorf("%q has mode %s, which git does not support", at, e.Mode)
	}
}

func (w *walker) addBlob(hash plumbing.Hash, f file) error {
	// EncodedObjectSize of go-git would leave the file of each object open.
	blob, err := object.GetBlob(w.objects, hash)
	if err != nil {
		return fmt.Errorf("reading %q: %w", f.path, err)
	}
	if w.bytesLeft -= blob.Size; blob.Size < 0 || w.bytesLeft < 0 {
		return fmt.Errorf("its files are larger than the %d bytes that are allowed", w.maxBytes)
	}
	f.size = blob.Size
	f.open = func() (io.ReadCloser, error) {
		blob, err := object.GetBlob(w.objects, hash)
		if err != nil {
			return nil, err
		}
		return blob.Reader()
	}
	if f.mode == fs.ModeSymlink {
		if f.link, err = f.read(maxPath); err != nil {
			return fmt.Errorf("reading link %q: %w", f.path, err)
		}
	}
	w.files = append(w.files, f)
	return nil
}

// checkEntry returns an error for names that some operating system interprets as a path.
// It also returns an error for names that some file system treats as .git, because git
// runs hooks and commands in the configuration of such a folder.
func checkEntry(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%q is not a file name", name)
	}
	if isDotGit(name) {
		return fmt.Errorf("%q can be .git on some file systems, and a template must not contain .git", name)
	}
	return nil
}

// isDotGit reports whether a name opens .git on file systems that ignore case (most of
// macOS and Windows), invisible runes (HFS+), or trailing dots, spaces and streams
// (NTFS, where git~1 is the short name). Git refuses the same names
// (core.protectHFS, core.protectNTFS).
func isDotGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// leadsOut reports whether the target of a link is outside of the template on any system.
func leadsOut(link file) bool {
	to := strings.ReplaceAll(link.link, `\`, "/")
	if path.IsAbs(to) || filepath.VolumeName(link.link) != "" {
		return true
	}
	return !filepath.IsLocal(path.Join(path.Dir(link.path), to))
}
