package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// FileMode is the mode of the files that this package writes.
const FileMode = 0o644

// A Target is the path of a file to write and the artifact to write to it.
type Target struct {
	Path     string
	Artifact oci.Artifact
}

// WriteFiles writes an archive to the path of each target, as Write does. It writes all
// archives to temporary files before it renames the first one. An error before that, such
// as a full disk, therefore leaves no file. Devices and pipes are written directly. Except
// on Windows, a target may replace the open file that its layers are read from. WriteFiles
// also removes temporary files of killed processes.
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

func progressText(path string) string { return "writing " + filepath.Base(path) }

// A FileDraft is a Draft in a temporary file. It must be closed, which removes the
// file unless it was kept or renamed.
type FileDraft struct {
	*Draft

	file *fsx.AtomicFile
	dir  string
	path string // the path of the finished file, or "" if unknown
	// written is true after the draft was renamed or partially finished. Such a draft cannot
	// be used for another file.
	written bool
}

// CreateDraft creates a draft in dir. WriteFile can rename the draft only to a path in dir.
func CreateDraft(dir string) (*FileDraft, error) {
	f, err := fsx.Create(dir)
	if err != nil {
		return nil, err
	}
	return &FileDraft{Draft: NewDraft(f), file: f, dir: dir}, nil
}

// ResumeDraft opens the draft that an earlier call of Keep kept for the file at path, or
// creates one. A path that exists must be a regular file. digest is the digest of the
// package. Drafts older than a day are removed.
func ResumeDraft(path string, digest v1.Hash) (*FileDraft, error) {
	dir, ok := fsx.TemporaryDir(path)
	if !ok {
		return nil, explainWrite(path, errors.New("the path is not a regular file"))
	}
	f, err := fsx.Resume(dir, digest.String())
	if err != nil {
		return nil, explainWrite(path, err)
	}
	return &FileDraft{Draft: NewDraft(f), file: f, dir: dir, path: path}, nil
}

// WriteFile writes a to path, with the same bytes as WriteFiles. The first call renames the
// draft to path, without copying the layers. This needs a path in the draft's directory,
// and an archive whose first files are the draft's layers. Otherwise WriteFile writes a new
// file. Except on Windows, the draft's layers can be read until Close.
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

// Resume completes a draft of ResumeDraft to the archive of a, and renames it to its path.
// Layers of a may be read from Blobs, because each blob is at its final offset. Resume may
// be called again after an error.
func (d *FileDraft) Resume(ctx context.Context, a oci.Artifact, report progress.Func) error {
	_, err := d.Finish(ctx, a, progressText(d.path), report)
	if err == nil {
		err = d.file.Commit(d.path, FileMode)
	}
	return explainWrite(d.path, err)
}

// Blobs returns the unverified bytes of each blob in the draft, complete or not.
func (d *FileDraft) Blobs() (map[v1.Hash]*io.SectionReader, error) {
	size, err := d.file.Size()
	return ReadPartial(d.file, size), explainWrite(d.path, err)
}

// Drop removes a blob from the draft, and all blobs after it.
func (d *FileDraft) Drop(h v1.Hash) error {
	blobs, err := d.Blobs()
	if b := blobs[h]; b != nil && err == nil {
		_, offset, _ := b.Outer()
		err = explainWrite(d.path, d.file.Truncate(offset))
	}
	return err
}

// Keep keeps the draft for the next ResumeDraft, and returns the draft's size. It keeps
// nothing and returns 0 if the draft has fewer than atLeast bytes. Keep may be called once.
// Close must still be called.
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

// Close closes the draft. Its layers cannot be read afterwards.
func (d *FileDraft) Close() error { return d.file.Close() }

// ReadPartial returns the unverified blobs in the first size bytes of an archive. The
// archive may end in the middle of a blob.
func ReadPartial(r io.ReaderAt, size int64) map[v1.Hash]*io.SectionReader {
	file := io.NewSectionReader(r, 0, size)
	tr := tar.NewReader(file)
	found := map[v1.Hash]*io.SectionReader{}
	for range maxEntries {
		h, err := tr.Next()
		if err != nil {
			break
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil || at > size {
			break
		}
		if digest, ok := blobOf(h.Name); ok && h.Typeflag == tar.TypeReg {
			found[digest] = io.NewSectionReader(r, at, min(h.Size, size-at))
		}
	}
	return found
}

// blobOf returns the digest in the name of an archive's file. It returns false if the file
// is not a blob.
func blobOf(name string) (v1.Hash, bool) {
	rest, ok := strings.CutPrefix(name, "blobs/")
	h, err := v1.NewHash(strings.Replace(rest, "/", ":", 1))
	return h, ok && err == nil && blobPath(h) == name
}
