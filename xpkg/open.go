package xpkg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// An Artifact is what a package is in a registry: a v1.Image, or a
// v1.ImageIndex of one image per platform.
type Artifact interface {
	partial.Describable
	partial.WithRawManifest
}

// A File is an open .xpkg file.
type File struct {
	// Artifact is the package. Its layers are read from the file when they are
	// asked for, and checked as they are read.
	Artifact Artifact
	// Unproven says that nobody has checked what the layers unpack to: a Docker
	// archive has no manifest, so whoever wrote it need not have known.
	Unproven bool

	file *archive.File
}

// Close closes the file. The artifact's layers cannot be read after it.
func (f *File) Close() error { return f.file.Close() }

// Open opens an .xpkg file that WriteFile or the crossplane CLI wrote. In a file of
// the crossplane CLI the annotations of layers are missing; Open restores them from
// the labels of the image config. It returns an error for a file without a package.
// Errors name the file.
func Open(ctx context.Context, path string) (*File, error) {
	f, err := OpenImage(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := Check(ctx, f.Artifact); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
	}
	return f, nil
}

// OpenImage is Open for a file that may also have an image, or an index of images,
// that is not a package.
func OpenImage(ctx context.Context, path string) (*File, error) {
	f, err := archive.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	a := f.Artifact
	if img, ok := a.(v1.Image); ok && f.Docker {
		if a, err = AnnotateLayers(img); err != nil {
			return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
		}
	}
	return &File{Artifact: a, Unproven: f.Docker, file: f}, nil
}

// Check returns an error unless each image of a contains a package.yaml.
func Check(ctx context.Context, a Artifact) error {
	images, err := Images(a)
	if err != nil {
		return err
	}
	for _, i := range images {
		if _, err := PackageYAML(ctx, i.Image); err != nil {
			return err
		}
	}
	if len(images) == 0 {
		return errors.New("it contains no image")
	}
	return nil
}

// AnnotateLayers gives the layers of img the annotations that its config's
// labels say. The config stays the same.
func AnnotateLayers(img v1.Image) (v1.Image, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading its config: %w", err)
	}
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	descs := slices.Clone(p.Descriptors)
	for i, d := range descs {
		if mark, ok := config.Config.Labels[Annotation+":"+d.Digest.String()]; ok {
			descs[i].Annotations = map[string]string{Annotation: mark}
		}
	}
	return oci.Assemble(p.Config, descs, p.Layers...)
}
