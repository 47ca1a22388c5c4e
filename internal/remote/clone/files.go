package clone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// Root returns the root of the work tree that contains dir: the closest folder with .git.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the git repository of %q: %w", dir, err)
	}
	for at := range fsx.Parents(abs) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("%q is not in a git repository", dir)
}

// Files calls each with the path, with slashes, and the content of every file whose path is wanted.
// Links are left out. It returns an error if these files have more than most bytes together.
func (s Snapshot) Files(ctx context.Context, most int64, wanted func(path string) bool, each func(path string, data []byte) error) error {
	tree, err := object.GetTree(s.Objects, s.Tree)
	if err != nil {
		return fmt.Errorf("reading commit %s: %w", s.Commit, err)
	}
	err = tree.Files().ForEach(func(f *object.File) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !f.Mode.IsRegular() && f.Mode != filemode.Executable || !wanted(f.Name) {
			return nil
		}
		if most -= f.Size; most < 0 {
			return errors.New("the wanted files are too large")
		}
		r, err := f.Reader()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(r, f.Size))
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("reading %q: %w", f.Name, err)
		}
		return each(f.Name, data)
	})
	if err != nil {
		return fmt.Errorf("reading commit %s: %w", s.Commit, err)
	}
	return nil
}
