package xpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
)

// fileMode is that of packages.
const fileMode = 0o644

// WriteFile writes a as an .xpkg file, which archive.Write describes. The file
// is whole or not there, and has mode 0644; a device or pipe is written to. It
// may replace a file that the layers of a are read from, but not on Windows,
// while that is open. What a killed process left beside it is removed.
func WriteFile(ctx context.Context, path string, a Artifact, report progress.Func) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing package %q: %w", path, err)
		}
	}()
	dir, ok := fsx.TemporaryDir(path)
	if !ok {
		return fsx.Write(path, fileMode, func(w io.Writer) error {
			return archive.Write(ctx, w, a, writing(path), report)
		})
	}
	d, err := NewDraft(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	_, err = d.become(ctx, path, a, report)
	return err
}

func writing(path string) string { return "writing " + filepath.Base(path) }

// A Draft is an .xpkg file that is being written while the layers of its runtime
// images are still made or read: they are compressed or copied into it, and
// nowhere else. It must be closed, which removes it unless it has become a
// package.
type Draft struct {
	*archive.Draft

	file *fsx.AtomicFile
	dir  string
	// written is true once the draft is a package, or a stump of one.
	written bool
}

// NewDraft begins an .xpkg file in the directory that it will be in, if that is
// known, or else in any.
func NewDraft(dir string) (*Draft, error) {
	f, err := fsx.Create(dir)
	if err != nil {
		return nil, err
	}
	return &Draft{Draft: archive.NewDraft(f), file: f, dir: dir}, nil
}

// WriteFile writes a as the function WriteFile does, to the same bytes. If the
// layers in the draft are the first that the file has, and path is in the
// draft's directory, the draft becomes that file, and nothing is copied. It can
// do so once; except on Windows, its layers can be read after that, too, until it
// is closed.
func (d *Draft) WriteFile(ctx context.Context, path string, a Artifact, report progress.Func) error {
	if dir, ok := fsx.TemporaryDir(path); d.written || !ok || !same(dir, d.dir) {
		return WriteFile(ctx, path, a, report)
	}
	done, err := d.become(ctx, path, a, report)
	if err != nil {
		return fmt.Errorf("writing package %q: %w", path, err)
	}
	if !done {
		return WriteFile(ctx, path, a, report)
	}
	return nil
}

func same(dirA, dirB string) bool {
	a, errA := os.Stat(dirA)
	b, errB := os.Stat(dirB)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// become makes the draft the package at path, if it can.
func (d *Draft) become(ctx context.Context, path string, a Artifact, report progress.Func) (bool, error) {
	done, err := d.Finish(ctx, a, writing(path), report)
	d.written = d.written || done
	if err != nil || !done {
		return false, err
	}
	return true, d.file.Commit(path, fileMode)
}

// Close ends the use of the draft and its layers.
func (d *Draft) Close() error { return d.file.Close() }
