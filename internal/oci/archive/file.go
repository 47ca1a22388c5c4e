package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// FileMode is the mode of the files that are written here.
const FileMode = 0o644

// WriteFile writes a to a file as Write does. The file is complete or absent, and
// has mode FileMode; a device or pipe is written to. WriteFile may replace a file
// that the layers of a are read from, except on Windows while that file is open.
// It removes what a killed process left beside the file.
func WriteFile(ctx context.Context, path string, a oci.Artifact, report progress.Func) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing package %q: %w", path, err)
		}
	}()
	dir, ok := fsx.TemporaryDir(path)
	if !ok {
		return fsx.Write(path, FileMode, func(w io.Writer) error {
			return Write(ctx, w, a, ProgressText(path), report)
		})
	}
	d, err := CreateDraft(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	_, err = d.become(ctx, path, a, report)
	return err
}

// ProgressText is the text of events about writing the file at path.
func ProgressText(path string) string { return "writing " + filepath.Base(path) }

// A FileDraft is a Draft in a temporary file. It must be closed, which removes the
// file unless it has become a package.
type FileDraft struct {
	*Draft

	file *fsx.AtomicFile
	dir  string
	// written is true once the draft was renamed, or partially finished.
	written bool
}

// CreateDraft creates a draft in the directory of the file that it will become,
// if that is known, or in any other directory.
func CreateDraft(dir string) (*FileDraft, error) {
	f, err := fsx.Create(dir)
	if err != nil {
		return nil, err
	}
	return &FileDraft{Draft: NewDraft(f), file: f, dir: dir}, nil
}

// WriteFile writes a as the function WriteFile does, to the same bytes. If the
// layers in the draft are the first layers of the file, and path is in the
// draft's directory, the draft is renamed to path, and nothing is copied. That
// happens at most once. Except on Windows, the draft's layers can be read until it
// is closed.
func (d *FileDraft) WriteFile(ctx context.Context, path string, a oci.Artifact, report progress.Func) error {
	if dir, ok := fsx.TemporaryDir(path); d.written || !ok || !isSameDir(dir, d.dir) {
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

func isSameDir(dirA, dirB string) bool {
	a, errA := os.Stat(dirA)
	b, errB := os.Stat(dirB)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// become renames the draft to path if its layers are the first layers of a.
func (d *FileDraft) become(ctx context.Context, path string, a oci.Artifact, report progress.Func) (bool, error) {
	done, err := d.Finish(ctx, a, ProgressText(path), report)
	d.written = d.written || done
	if err != nil || !done {
		return false, err
	}
	return true, d.file.Commit(path, FileMode)
}

// Close closes the draft. Its layers cannot be read after it.
func (d *FileDraft) Close() error { return d.file.Close() }
