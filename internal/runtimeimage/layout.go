package runtimeimage

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// FromLayout returns the image in a directory that is an OCI image layout, the
// images of its index, or where its index.json lists several, all of those.
// Layers are as in FromTarball. Errors name the directory.
func FromLayout(ctx context.Context, dir string, opts Options) (_ *Images, err error) {
	f, err := archive.OpenFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a, err := f.Artifact(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	all, err := read(dir, opts, func(s *spool) (*Images, error) { return s.imagesOf(ctx, a) })
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image from %q: %w", dir, err)
	}
	return all, nil
}
