package xpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/atomicfile"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg/archive"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

// An Artifact is what a package is in a registry: a v1.Image, or a
// v1.ImageIndex of one image per platform.
type Artifact = oci.Artifact

// A File is an open .xpkg file.
type File struct {
	// Artifact is the package. Its layers are read from the file when they are
	// asked for, and checked as they are read.
	Artifact Artifact

	file *archive.File
}

// Close closes the file. The artifact's layers cannot be read after it.
func (f *File) Close() error { return f.file.Close() }

// Open opens an .xpkg file: one that WriteFile wrote, or one of the incumbent,
// whose annotations are restored from the labels of its config. A file that
// holds no package is an error, and errors name the file.
func Open(ctx context.Context, path string) (*File, error) {
	f, err := archive.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := packageOf(ctx, f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
	}
	return &File{Artifact: a, file: f}, nil
}

func packageOf(ctx context.Context, f *archive.File) (Artifact, error) {
	a := f.Artifact
	if img, ok := a.(v1.Image); ok && f.Docker {
		annotated, err := annotate(img)
		if err != nil {
			return nil, err
		}
		a = annotated
	}
	images, err := Images(a)
	if err != nil {
		return nil, err
	}
	for _, i := range images {
		if _, err := PackageYAML(ctx, i.Image); err != nil {
			return nil, err
		}
	}
	if len(images) == 0 {
		return nil, errors.New("it holds no image")
	}
	return a, nil
}

// annotate gives the layers of img the annotations that its config's labels
// say. The config stays the same.
func annotate(img v1.Image) (v1.Image, error) {
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

// WriteFile writes a as an .xpkg file, which archive.Write describes. The file
// is whole or not there, and has mode 0644; a device or pipe is written to. It
// may replace a file that the layers of a are read from, but not on Windows,
// while that is open.
func WriteFile(ctx context.Context, path string, a Artifact, report progress.Func) error {
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
		return archive.Write(ctx, w, a, "writing "+filepath.Base(path), report)
	})
	if err != nil {
		return fmt.Errorf("writing package %q: %w", path, err)
	}
	return nil
}
