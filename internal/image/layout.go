package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/image/blobs"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Local is an image in a file or folder.
type Local struct {
	// Image is read from where it lies, its layers when they are asked for.
	Image v1.Image
	from  io.Closer
}

// Close closes the file or folder. The image's layers cannot be read after it.
func (l *Local) Close() error { return l.from.Close() }

// OpenLocal opens the image for a platform in an .xpkg file, a file of docker
// save, or a folder with an OCI image layout (image-spec, image-layout.md),
// which hold one image or one index. An empty platform is as in a Request.
// Nothing is copied to a cache. Errors name the path.
func OpenLocal(ctx context.Context, path string, platform v1.Platform) (*Local, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, fsx.Cause(err))
	}
	if info.IsDir() {
		return openLayout(ctx, path, orHost(platform))
	}
	f, err := archive.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	img, err := ImageFor(f.Artifact, orHost(platform))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
	}
	return &Local{img, f}, nil
}

// ImageFor returns the image of a that runs on a platform. It is an error if
// there is none.
func ImageFor(a xpkg.Artifact, want v1.Platform) (v1.Image, error) {
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	there := make([]v1.Platform, 0, len(images))
	for _, i := range images {
		if i.Platform == nil {
			i.Platform = &v1.Platform{}
		}
		there = append(there, *i.Platform)
	}
	i, err := Choose(there, want)
	if err != nil {
		return nil, err
	}
	return images[i].Image, nil
}

// openLayout opens a folder as a stranger's: no link in it leads out.
func openLayout(ctx context.Context, path string, platform v1.Platform) (*Local, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, fsx.Cause(err))
	}
	img, err := imageOfLayout(ctx, root.FS(), platform)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", path, err), root.Close())
	}
	return &Local{img, root}, nil
}

func imageOfLayout(ctx context.Context, folder fs.FS, platform v1.Platform) (v1.Image, error) {
	top, err := topOfLayout(folder)
	if err != nil {
		return nil, err
	}
	sub, err := fs.Sub(folder, "blobs")
	if err != nil {
		return nil, err
	}
	b := blobs.NewReader(sub)
	read := func(_ context.Context, d v1.Descriptor) ([]byte, error) {
		return b.Read(d.Digest, maxMetadata)
	}
	raw, err := read(ctx, top)
	if err != nil {
		return nil, err
	}
	f, err := walk{read, newBudget()}.image(ctx, raw, platform)
	if err != nil {
		return nil, err
	}
	for _, d := range f.layers {
		if size, err := b.Size(d.Digest); err != nil || size != d.Size {
			return nil, errors.Join(fmt.Errorf("its layer %s is not there, or has not %d bytes", d.Digest, d.Size), err)
		}
	}
	return f.assemble(b.Open)
}

// topOfLayout returns the one image or index that index.json lists, under one
// name or several.
func topOfLayout(folder fs.FS) (top v1.Descriptor, err error) {
	if _, err := fs.Stat(folder, "oci-layout"); err != nil {
		return top, errors.New("it is no OCI image layout: it has no oci-layout")
	}
	f, err := folder.Open("index.json")
	if err != nil {
		return top, fmt.Errorf("opening its index.json: %w", fsx.Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(f, remote.MaxManifest+1))
	if err != nil {
		return top, fmt.Errorf("reading its index.json: %w", fsx.Cause(err))
	}
	if len(raw) > remote.MaxManifest {
		return top, fmt.Errorf("its index.json has more than %d bytes", remote.MaxManifest)
	}
	m, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return top, errors.New("its index.json is not valid")
	}
	seen := map[v1.Hash]bool{}
	for _, d := range m.Manifests {
		seen[d.Digest] = true
		top = d
	}
	if n := len(seen); n != 1 {
		return top, fmt.Errorf("its index.json lists %d images, and must list one", n)
	}
	return top, nil
}
