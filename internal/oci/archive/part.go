package archive

import (
	"context"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A Part is a partially written file of a package whose layers are downloaded. If
// the download fails it can be kept, for a Part of the same package in the same
// directory. It must be closed, which removes it unless it was kept or has become
// the file.
type Part struct {
	file *fsx.AtomicFile
	path string
}

// OpenPart creates a part of the file at path, which must be a regular file or
// absent, or opens the part that was kept of it; digest is that of the package.
// Parts that were kept for more than a day are removed.
func OpenPart(path string, digest v1.Hash) (*Part, error) {
	dir, ok := fsx.TemporaryDir(path)
	if !ok {
		return nil, fmt.Errorf("writing package %q: it is not a regular file", path)
	}
	f, err := fsx.Resume(dir, digest.String())
	if err != nil {
		return nil, fmt.Errorf("writing package %q: %w", path, err)
	}
	return &Part{f, path}, nil
}

// Blobs returns the bytes of each blob in the part, complete or not. They were not
// verified.
func (p *Part) Blobs() (map[v1.Hash]*io.SectionReader, error) {
	size, err := p.file.Size()
	if err != nil {
		return nil, fmt.Errorf("writing package %q: %w", p.path, err)
	}
	blobs := map[v1.Hash]*io.SectionReader{}
	for h, b := range ReadBegun(p.file, size) {
		blobs[h] = io.NewSectionReader(p.file, b.Offset, b.Size)
	}
	return blobs, nil
}

// Drop removes a blob and all blobs after it.
func (p *Part) Drop(h v1.Hash) error {
	size, err := p.file.Size()
	if b, ok := ReadBegun(p.file, size)[h]; ok && err == nil {
		err = p.file.Truncate(b.Offset)
	}
	if err != nil {
		return fmt.Errorf("writing package %q: %w", p.path, err)
	}
	return nil
}

// WriteFile completes the part to the file that the function WriteFile would
// write of a. Layers of a may be read from Blobs meanwhile: each blob is at its
// final offset. After an error WriteFile may be called again.
func (p *Part) WriteFile(ctx context.Context, a oci.Artifact, report progress.Func) error {
	if _, err := NewDraft(p.file).Finish(ctx, a, ProgressText(p.path), report); err != nil {
		return fmt.Errorf("writing package %q: %w", p.path, err)
	}
	return p.file.Commit(p.path, FileMode)
}

// Keep keeps the part for the next OpenPart if it has at least atLeast bytes, and
// returns its size. It may be called once, in place of Close.
func (p *Part) Keep(atLeast int64) (int64, error) {
	size, err := p.file.Size()
	if err != nil || size < atLeast {
		return 0, err
	}
	kept, err := p.file.Keep()
	if !kept {
		size = 0
	}
	return size, err
}

// Close closes the part.
func (p *Part) Close() error { return p.file.Close() }
