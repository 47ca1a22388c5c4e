package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// FileMode is the mode of the files that are written here.
const FileMode = 0o644

// A Target is the path of a file and what is written to it.
type Target struct {
	Path     string
	Artifact oci.Artifact
}

// WriteFiles writes each target to its file as Write does. It writes all of them
// before it renames the first to its path: a file is complete or absent, and after
// an error such as that of a full disk there is none. The files have mode
// FileMode; a device or pipe is written to. A file may be one that the layers of
// its artifact are read from, except on Windows while that is open. What a killed
// process left beside a file is removed.
func WriteFiles(ctx context.Context, report progress.Func, targets ...Target) (err error) {
	var drafts []*FileDraft
	defer func() {
		for _, d := range drafts {
			err = errors.Join(err, d.Close())
		}
	}()
	for _, t := range targets {
		dir, ok := fsx.TemporaryDir(t.Path)
		if !ok {
			err = fsx.Write(t.Path, FileMode, func(w io.Writer) error {
				return Write(ctx, w, t.Artifact, progressText(t.Path), report)
			})
		} else {
			var d *FileDraft
			if d, err = CreateDraft(dir); err == nil {
				d.path = t.Path
				drafts = append(drafts, d)
				_, err = d.Finish(ctx, t.Artifact, progressText(t.Path), report)
			}
		}
		if err != nil {
			return explainWrite(t.Path, err)
		}
	}
	for _, d := range drafts {
		if err := d.file.Commit(d.path, FileMode); err != nil {
			return explainWrite(d.path, err)
		}
	}
	return nil
}

func explainWrite(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing package %q: %w", path, err)
}

// progressText is the text of events about writing the file at path.
func progressText(path string) string { return "writing " + filepath.Base(path) }

// A FileDraft is a Draft in a temporary file. It must be closed, which removes the
// file unless it was kept or renamed.
type FileDraft struct {
	*Draft

	file *fsx.AtomicFile
	dir  string
	path string // empty if it is not known yet
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

// ResumeDraft creates a draft of the file at path, which must be a regular file or
// absent, or opens the draft that Keep kept of it; digest is that of the package.
// Drafts that were kept for more than a day are removed.
func ResumeDraft(path string, digest v1.Hash) (*FileDraft, error) {
	dir, ok := fsx.TemporaryDir(path)
	if !ok {
		return nil, explainWrite(path, errors.New("it is not a regular file"))
	}
	f, err := fsx.Resume(dir, digest.String())
	if err != nil {
		return nil, explainWrite(path, err)
	}
	return &FileDraft{Draft: NewDraft(f), file: f, dir: dir, path: path}, nil
}

// WriteFile writes a as WriteFiles does, to the same bytes. If the layers in the
// draft are the first layers of the file, and path is in the draft's directory,
// the draft is renamed to path, and nothing is copied. That happens at most once.
// Except on Windows, the draft's layers can be read until it is closed.
func (d *FileDraft) WriteFile(ctx context.Context, path string, a oci.Artifact, report progress.Func) error {
	if dir, ok := fsx.TemporaryDir(path); !d.written && ok && isSameDir(dir, d.dir) {
		done, err := d.Finish(ctx, a, progressText(path), report)
		d.written = done
		if err == nil && done {
			err = d.file.Commit(path, FileMode)
		}
		if err != nil || done {
			return explainWrite(path, err)
		}
	}
	return WriteFiles(ctx, report, Target{path, a})
}

func isSameDir(dirA, dirB string) bool {
	a, errA := os.Stat(dirA)
	b, errB := os.Stat(dirB)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// Resume completes a draft of ResumeDraft to the file that WriteFiles would write
// of a. Layers of a may be read from Blobs meanwhile: each blob is at its final
// offset. After an error Resume may be called again.
func (d *FileDraft) Resume(ctx context.Context, a oci.Artifact, report progress.Func) error {
	_, err := d.Finish(ctx, a, progressText(d.path), report)
	if err == nil {
		err = d.file.Commit(d.path, FileMode)
	}
	return explainWrite(d.path, err)
}

// Blobs returns the bytes of each blob that the draft was resumed with, complete or
// not. They were not verified.
func (d *FileDraft) Blobs() (map[v1.Hash]*io.SectionReader, error) {
	size, err := d.file.Size()
	if err != nil {
		return nil, explainWrite(d.path, err)
	}
	blobs := map[v1.Hash]*io.SectionReader{}
	for h, b := range ReadPartial(d.file, size) {
		blobs[h] = io.NewSectionReader(d.file, b.Offset, b.Size)
	}
	return blobs, nil
}

// Drop removes a blob and all blobs after it.
func (d *FileDraft) Drop(h v1.Hash) error {
	size, err := d.file.Size()
	if b, ok := ReadPartial(d.file, size)[h]; ok && err == nil {
		err = d.file.Truncate(b.Offset)
	}
	return explainWrite(d.path, err)
}

// Keep keeps the draft for the next ResumeDraft if it has at least atLeast bytes,
// and returns its size. It may be called once, in place of Close.
func (d *FileDraft) Keep(atLeast int64) (int64, error) {
	size, err := d.file.Size()
	if err != nil || size < atLeast {
		return 0, err
	}
	kept, err := d.file.Keep()
	if !kept {
		size = 0
	}
	return size, err
}

// Close closes the draft. Its layers cannot be read after it.
func (d *FileDraft) Close() error { return d.file.Close() }
