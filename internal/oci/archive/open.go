package archive

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/xfn-dev/xfn/internal/fsx"

	"github.com/xfn-dev/xfn/internal/oci"
)

// A File is an open archive.
type File struct {
	// Artifact is the image or index that the archive holds. Its layers are
	// read from the file when they are asked for, and checked against their
	// digests as they are read.
	Artifact oci.Artifact
	// Docker is true for a Docker archive that is no OCI layout, or not a whole
	// one. Its image has a manifest that is made when it is first asked for,
	// without annotations: all layers are read then, for their digests.
	Docker bool

	file *os.File // nil if it was read by Read
}

// Close closes the file. The artifact's layers cannot be read after it.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Open opens an archive that holds one image or index. Only its metadata is
// read. Until ctx is done, layers can be read for the manifest of a Docker
// archive. An error names the file.
func Open(ctx context.Context, path string) (_ *File, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, fsx.Cause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, fsx.Cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	t, err := readTar(ctx, f)
	if err != nil {
		return nil, err
	}
	a, docker, err := t.artifactOf(ctx)
	if err != nil {
		return nil, err
	}
	return &File{Artifact: a, Docker: docker, file: f}, nil
}

// artifactOf returns what the layout holds. Docker writes layouts that are not
// whole: without an index for an image saved by its id, without layers up to
// version 25, without the blobs of platforms that it has not pulled. What it
// means stands in its own manifest.
func (t *tarball) artifactOf(ctx context.Context) (a oci.Artifact, docker bool, err error) {
	if _, ok := t.find(layoutFile); ok {
		a, err = layout{t, &t.budget}.one(ctx)
		if _, ok := t.find(manifestFile); !ok || !errors.As(err, new(oci.IncompleteError)) {
			return a, false, err
		}
	}
	a, err = t.docker(ctx)
	return a, true, err
}
