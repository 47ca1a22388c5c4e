package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Local is an image in a file or folder.
type Local struct {
	// Image is the image. Its layers are read from the file or folder when they are opened.
	Image v1.Image
	from  io.Closer
}

// Close closes the file or folder. The image's layers cannot be read afterwards.
func (l *Local) Close() error { return l.from.Close() }

// OpenLocal opens the image for a platform. path is an .xpkg file, a file of docker save,
// or a folder with an OCI image layout (image-spec, image-layout.md) of one image or index.
// An empty platform means Linux on this machine's processor. The cache is not used. Errors
// name the path.
func OpenLocal(ctx context.Context, path string, platform v1.Platform) (*Local, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("opening %q: %w", path, fsx.Cause(err)), manifest.Similar(afero.NewOsFs(), path))
	}
	l := &Local{}
	if info.IsDir() {
		f, openErr := archive.OpenFolder(path)
		if openErr != nil {
			return nil, openErr
		}
		l.from = f
		l.Image, err = imageOfFolder(ctx, f, orHost(platform))
	} else {
		f, openErr := archive.Open(ctx, path)
		if openErr != nil {
			return nil, openErr
		}
		l.from = f
		l.Image, err = ImageFor(f.Artifact, orHost(platform))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), l.Close())
	}
	return l, nil
}

// ImageFor returns the image for a platform in the artifact a, or an error if there is
// none.
func ImageFor(a xpkg.Artifact, want v1.Platform) (v1.Image, error) {
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	available := make([]v1.Platform, 0, len(images))
	for _, i := range images {
		if i.Platform == nil {
			i.Platform = &v1.Platform{}
		}
		available = append(available, *i.Platform)
	}
	i, err := Choose(available, want)
	if err != nil {
		return nil, err
	}
	return images[i].Image, nil
}

// imageOfFolder returns the image for a platform in the folder f. It does not read the
// manifests of other platforms, which may be missing.
func imageOfFolder(ctx context.Context, f *archive.Folder, platform v1.Platform) (v1.Image, error) {
	if n := len(f.Listed); n != 1 {
		return nil, fmt.Errorf("index.json lists %d images, expected one", n)
	}
	c, err := find(ctx, f.Walk(), f.Listed[0], platform)
	if err != nil {
		return nil, err
	}
	return c.manifest.Image(c.config, f.Layer)
}
