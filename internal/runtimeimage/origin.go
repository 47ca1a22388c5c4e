package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
)

// FromLayout returns the images of an OCI image layout in a directory, including the
// images of its indexes. It stores the layers in a temporary file, and compresses
// uncompressed layers. Errors name the directory.
func FromLayout(ctx context.Context, dir string, opts Options) (_ *Images, err error) {
	f, err := archive.OpenFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(err, manifest.Similar(afero.NewOsFs(), dir))
	}
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a, err := f.Artifact(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	return read(fmt.Sprintf("reading a runtime image from %q", dir), dir, opts, func(s *spool) (*Images, error) { return s.imagesOf(ctx, a) })
}

// FromRemote returns the image at a reference, or all images if the reference names an
// index. It stores the layers in a temporary file, and compresses uncompressed layers.
// Errors name the reference.
func FromRemote(ctx context.Context, client *remote.Client, ref name.Reference, opts Options) (*Images, error) {
	return read("reading a runtime image", ref.Name(), opts, func(s *spool) (*Images, error) {
		a, err := image.Artifact(ctx, ref, image.Options{Remote: client, Pin: opts.Pin})
		if err != nil {
			return nil, err
		}
		all, err := s.imagesOf(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("pulling %q: %w", ref.Name(), client.Explain(ref, err))
		}
		all.Reference = ref
		return all, nil
	})
}

// FromEngine returns the image with this name or ID in a Docker engine. The engine sends
// the archive that docker save writes; FromEngine compresses layers while it receives
// them. Errors name the image.
func FromEngine(ctx context.Context, engine *dockerengine.Engine, image string, opts Options) (*Images, error) {
	return read("reading a runtime image from the engine", image, opts, func(s *spool) (*Images, error) {
		var f *archive.File
		err := engine.Save(ctx, image, s.report, func(r io.Reader) (err error) {
			if f, err = archive.Read(ctx, r, s.draft.Draft); err != nil {
				return fmt.Errorf("image %q: %w", image, err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all, err := s.imagesOf(ctx, f.Artifact)
		if err != nil {
			return nil, fmt.Errorf("image %q: %w", image, err)
		}
		return all, nil
	})
}
