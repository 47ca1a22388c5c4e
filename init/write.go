package scaffold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// checkEmpty returns an error if dir has an entry except the folder .git and the entry called
// own. It first removes the staging folders of killed processes.
func checkEmpty(dir, own string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("path %q is not a directory", dir)
	}
	if root, err := os.OpenRoot(dir); err == nil {
		fsx.SweepTempDirs(root)
		_ = root.Close() // An error of closing a directory that was only read does not matter.
	}
	entries, readErr := os.ReadDir(dir)
	if err := cmp.Or(err, readErr); err != nil {
		return fmt.Errorf("reading directory %q: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != own && (e.Name() != ".git" || !e.IsDir()) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return hint.Wrap(fmt.Errorf("directory %q is not empty: it has %s", dir, strings.Join(names, ", ")),
		"name another directory, which is created if it does not exist")
}

// write writes all files to dir, or none. It returns the directories that it created.
func write(ctx context.Context, dir string, files []file) (_ []string, err error) {
	made, err := makeDirs(dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, removeDirs(made))
		}
	}()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// The staging folder has the files until all are written. It is in dir, so that files can be
	// renamed from one to the other.
	staging, err := fsx.MakeTempDir(root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, staging.Close()) }()
	// The staging folder of a concurrent Init makes this one fail.
	if err := checkEmpty(dir, staging.Name); err != nil {
		return nil, err
	}
	if err := stage(ctx, root, staging.Name, files); err != nil {
		return nil, err
	}
	return made, publish(ctx, root, staging.Name, files)
}

// Undo restores the directory to its state before Init: it removes all files in it
// except an earlier .git, and the directories that Init created.
func (r Result) Undo() (err error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return fmt.Errorf("emptying directory %q: %w", r.Dir, err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.Name() != ".git" || len(r.Made) > 0 {
			err = errors.Join(err, root.RemoveAll(e.Name()))
		}
	}
	if err = errors.Join(err, root.Close(), removeDirs(r.Made)); err != nil {
		return fmt.Errorf("emptying directory %q: %w", r.Dir, err)
	}
	return nil
}

// makeDirs creates dir and its missing parents. It returns the directories that it has
// created, even if it also returns an error.
func makeDirs(dir string) (made []string, err error) {
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if err == nil || at == filepath.Dir(at) {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		if err := os.Mkdir(at, 0o750); err != nil {
			return made, err
		}
		made = append(made, at)
		if err := os.Chmod(at, 0o750); err != nil {
			return made, err
		}
	}
	return made, nil
}

func removeDirs(made []string) error {
	for _, at := range slices.Backward(made) {
		if err := os.Remove(at); err != nil {
			return err
		}
	}
	return nil
}

// stage writes files below the staging folder. It writes links last, so that no file is
// written through a link, even if the file system treats different names as one.
func stage(ctx context.Context, root *os.Root, staging string, files []file) (err error) {
	into, err := root.OpenRoot(staging)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	for _, links := range []bool{false, true} {
		for _, f := range files {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if (f.mode == fs.ModeSymlink) != links {
				continue
			}
			if err := create(into, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// create creates a file, folder or link. Its mode does not depend on the umask.
func create(into *os.Root, f file) error {
	at := filepath.FromSlash(f.path)
	switch f.mode {
	case fs.ModeSymlink:
		return into.Symlink(f.link, at)
	case fs.ModeDir:
		if err := into.Mkdir(at, 0o700); err != nil {
			return err
		}
		return into.Chmod(at, 0o755)
	}
	w, err := into.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(fill(w, f), w.Close())
}

func fill(w *os.File, f file) error {
	r, err := f.open()
	if err != nil {
		return fmt.Errorf("reading %q: %w", f.path, err)
	}
	defer func() { _ = r.Close() }()
	n, err := io.Copy(w, io.LimitReader(r, f.size+1))
	if err != nil {
		return fmt.Errorf("copying %q: %w", f.path, err)
	}
	if n != f.size {
		return fmt.Errorf("%q does not have the size of its git object, %d bytes", f.path, f.size)
	}
	return w.Chmod(f.mode)
}

// publish moves all staged entries to their places, or none. An existing file is an error.
func publish(ctx context.Context, root *os.Root, staging string, files []file) (err error) {
	var moved []string
	defer func() {
		if err == nil {
			return
		}
		for _, name := range slices.Backward(moved) {
			err = errors.Join(err, root.RemoveAll(name))
		}
	}()
	for _, f := range files {
		if strings.Contains(f.path, "/") {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if _, err := root.Lstat(f.path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%q: %w", f.path, fs.ErrExist))
		}
		if err := root.Rename(filepath.Join(staging, f.path), f.path); err != nil {
			return err
		}
		moved = append(moved, f.path)
	}
	return nil
}
