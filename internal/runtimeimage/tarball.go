package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/xpkg"
	"github.com/xfn-dev/xfn/xpkg/archive"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

// FromTarball returns the image in a tar file that docker save wrote, or the
// images of an OCI layout in a tar. Layers that are compressed stay as they
// are; the others are compressed, in one pass. Errors name the file. The file
// stays open until the images are closed, and may be replaced before that, but
// not on Windows.
func FromTarball(ctx context.Context, file string, opts Options) (*Images, error) {
	f, err := archive.Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	s, err := newSpool(opts.TempDir)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.keep(f)
	opts.Progress.Step("reading " + file)
	all, err := s.imagesOf(ctx, f.Artifact)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading a runtime image from %q: %w", file, err), s.Close())
	}
	return all, nil
}

// imagesOf returns the images of an artifact, their layers compressed.
func (s *spool) imagesOf(ctx context.Context, a xpkg.Artifact) (*Images, error) {
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	if len(images) == 0 {
		return nil, errors.New("it holds no image")
	}
	z := &zipper{spool: s, done: map[v1.Hash]blobLayer{}}
	all := &Images{spool: s}
	for _, i := range images {
		img, err := z.image(ctx, i.Image)
		if err != nil {
			return nil, err
		}
		all.All = append(all.All, img)
	}
	return all, nil
}

// A zipper compresses the layers of images that are not compressed yet, each
// once.
type zipper struct {
	spool *spool
	done  map[v1.Hash]blobLayer
}

func (z *zipper) image(ctx context.Context, img v1.Image) (v1.Image, error) {
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	descs, layers := slices.Clone(p.Descriptors), slices.Clone(p.Layers)
	for i, d := range p.Descriptors {
		if d.MediaType != types.OCIUncompressedLayer && d.MediaType != types.DockerUncompressedLayer {
			continue
		}
		l, err := z.layer(ctx, layers[i], d.Digest)
		if err != nil {
			return nil, err
		}
		layers[i] = l
		descs[i].MediaType, descs[i].Size, descs[i].Digest = l.blob.MediaType, l.blob.Size, l.blob.Digest
	}
	return oci.Assemble(p.Config, descs, layers...)
}

// layer compresses a layer whose bytes have the given digest.
func (z *zipper) layer(ctx context.Context, l v1.Layer, digest v1.Hash) (blobLayer, error) {
	if done, ok := z.done[digest]; ok {
		return done, nil
	}
	want, err := l.DiffID()
	if err != nil {
		return blobLayer{}, fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	zipped, blob, err := z.spool.layer(func(w io.Writer) error { return copyLayer(ctx, w, l) })
	if err != nil {
		return blobLayer{}, err
	}
	if blob.DiffID != want {
		return blobLayer{}, fmt.Errorf("its layer %s is %s in its config", blob.DiffID, want)
	}
	z.done[digest] = blobLayer{zipped, blob}
	return z.done[digest], nil
}

func copyLayer(ctx context.Context, w io.Writer, l v1.Layer) (err error) {
	rc, err := l.Compressed()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	_, err = io.Copy(w, oci.Reader(ctx, rc))
	return err
}
