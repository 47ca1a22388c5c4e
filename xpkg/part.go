package xpkg

import (
	"context"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A Part is an .xpkg file that is being written, of a package whose layers come
// from afar. If they stop coming it can be kept, for a Part of the same package
// in the same directory. It must be closed, which removes it unless it was kept
// or has become the file.
type Part struct {
	file *fsx.AtomicFile
	path string
}

// OpenPart begins the file at path, which must be a regular file or none, or goes
// on with what is kept of it; digest is that of the package. What is kept for
// more than a day is removed.
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

// Blobs are what is there of each blob: all of it, or its beginning. Nobody has
// checked them.
func (p *Part) Blobs() (map[v1.Hash]*io.SectionReader, error) {
	size, err := p.file.Size()
	if err != nil {
		return nil, fmt.Errorf("writing package %q: %w", p.path, err)
	}
	blobs := map[v1.Hash]*io.SectionReader{}
	for h, b := range archive.ReadBegun(p.file, size) {
		blobs[h] = io.NewSectionReader(p.file, b.Offset, b.Size)
	}
	return blobs, nil
}

// Drop removes a blob, and all that is behind it.
func (p *Part) Drop(h v1.Hash) error {
	size, err := p.file.Size()
	if b, ok := archive.ReadBegun(p.file, size)[h]; ok && err == nil {
		err = p.file.Truncate(b.Offset)
	}
	if err != nil {
		return fmt.Errorf("writing package %q: %w", p.path, err)
	}
	return nil
}

// WriteFile makes the part the package a, as the function WriteFile would write
// it. Layers of a may be read from Blobs meanwhile: each lies where it will be.
// After an error it may be called again.
func (p *Part) WriteFile(ctx context.Context, a Artifact, report progress.Func) error {
	if _, err := archive.NewDraft(p.file).Finish(ctx, a, writing(p.path), report); err != nil {
		return fmt.Errorf("writing package %q: %w", p.path, err)
	}
	return p.file.Commit(p.path, fileMode)
}

// Keep keeps what is there for the next Part, if that is at least so many bytes,
// and returns how many. It may be called once, in place of Close.
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

// Close ends the use of the part.
func (p *Part) Close() error { return p.file.Close() }
