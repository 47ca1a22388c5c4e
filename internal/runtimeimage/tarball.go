package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/spf13/afero"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg"
)

// FromTarball returns the image in a file of docker save, or the images of an OCI image
// layout in a tar file. The file may be compressed with gzip or zstd, and may be a pipe.
// FromTarball stores the layers in a temporary file: it compresses uncompressed layers in
// one pass, and copies other layers. The source file is not needed afterwards. Errors
// name it.
func FromTarball(ctx context.Context, file string, opts Options) (*Images, error) {
	return create(nil, opts, func(s *spool) (*Images, error) {
		opts.Progress.Step("reading " + file)
		return s.fromTarball(ctx, file)
	})
}

func (s *spool) fromTarball(ctx context.Context, file string) (all *Images, err error) {
	stream, err := isStream(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = hint.Wrap(err, manifest.Similar(afero.NewOsFs(), file))
	case err != nil:
	case stream:
		all, err = s.fromStream(ctx, file)
	default:
		f, openErr := archive.Open(ctx, file)
		if openErr != nil {
			return nil, fmt.Errorf("reading a runtime image: %w", openErr) // archive.Open already names the file in its error
		}
		all, err = s.imagesIn(ctx, f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image from %q: %w", file, err)
	}
	return all, nil
}

// isStream reports whether a file must be read from the beginning to the end, once: a
// pipe or a compressed file.
func isStream(file string) (_ bool, err error) {
	if info, err := os.Stat(file); err != nil || info.IsDir() || !info.Mode().IsRegular() {
		return err == nil && !info.IsDir(), fsx.Cause(err)
	}
	f, err := os.Open(file)
	if err != nil {
		return false, fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return false, nil // too short for an archive: archive.Open returns the error
	}
	return oci.Compression(head) != "", nil
}

func (s *spool) fromStream(ctx context.Context, file string) (_ *Images, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	count := &progress.Counter{Text: "reading " + file, Report: s.report}
	if info, err := f.Stat(); err == nil {
		count.Total = info.Size()
	}
	content := io.TeeReader(f, count)
	read, err := archive.Read(ctx, content, s.draft.Draft)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, content); err != nil { // The program that writes to a pipe may not have ended.
		return nil, fsx.Cause(err)
	}
	count.Finish()
	return s.imagesOf(ctx, read.Artifact)
}

// imagesIn returns the images of an archive. A Docker archive has no OCI manifest, so its
// image gets a manifest of the layers that the spool stores.
func (s *spool) imagesIn(ctx context.Context, f *archive.File) (*Images, error) {
	img, ok := f.Artifact.(v1.Image)
	if !ok || !f.Docker {
		return s.imagesOf(ctx, f.Artifact)
	}
	if _, err := only([]v1.Image{img}, s.platforms); err != nil {
		return nil, err
	}
	p, err := unhashedParts(img)
	if err != nil {
		return nil, err
	}
	return s.copyLayers(ctx, p)
}

// unhashedParts returns the parts of an image of a Docker archive. The descriptors of the
// layers have no digests, because a Docker archive contains only the digests of the
// uncompressed layers.
func unhashedParts(img v1.Image) (p oci.Parts, err error) {
	if p.Config, err = img.RawConfigFile(); err != nil {
		return p, fmt.Errorf("reading the config of the image: %w", err)
	}
	if p.Layers, err = img.Layers(); err != nil {
		return p, fmt.Errorf("reading the layers of the image: %w", err)
	}
	p.Descriptors = make([]v1.Descriptor, len(p.Layers))
	for i, l := range p.Layers {
		d := &p.Descriptors[i]
		if d.Size, err = l.Size(); err != nil {
			return p, fmt.Errorf("finding the size of a layer: %w", err)
		}
		if d.MediaType, err = l.MediaType(); err != nil {
			return p, fmt.Errorf("finding the media type of a layer: %w", err)
		}
	}
	return p, nil
}

// imagesOf returns the images of an artifact for s.platforms. It copies their layers into
// the spool.
func (s *spool) imagesOf(ctx context.Context, a xpkg.Artifact) (*Images, error) {
	found, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	images := make([]v1.Image, len(found))
	for i, f := range found {
		images[i] = f.Image
	}
	if images, err = only(images, s.platforms); err != nil {
		return nil, err
	}
	parts := make([]oci.Parts, len(images))
	for i, img := range images {
		if parts[i], err = oci.PartsOf(img); err != nil {
			return nil, err
		}
	}
	return s.copyLayers(ctx, parts...)
}

// copyLayers copies the layers of images into the spool, in the order of the images'
// manifests, and returns the images.
func (s *spool) copyLayers(ctx context.Context, images ...oci.Parts) (*Images, error) {
	if len(images) == 0 {
		return nil, errors.New("the source contains no image")
	}
	c := &copier{spool: s, count: &progress.Counter{Text: "reading the runtime image", Report: s.report}}
	for _, p := range images {
		for _, d := range p.Descriptors {
			c.count.Total += d.Size
		}
	}
	all := &Images{spool: s}
	for _, p := range images {
		img, err := c.image(ctx, p)
		if err != nil {
			return nil, err
		}
		all.All = append(all.All, img)
	}
	if c.read {
		c.count.Finish()
	}
	return all, nil
}

// A copier copies layers into a spool. It copies each layer once.
type copier struct {
	spool *spool
	count *progress.Counter
	// read is true if any layer had to be read because the spool did not have it.
	read bool
}

func (c *copier) image(ctx context.Context, p oci.Parts) (v1.Image, error) {
	descs, layers := slices.Clone(p.Descriptors), slices.Clone(p.Layers)
	for i := range layers {
		add := c.copy
		switch descs[i].MediaType {
		case types.OCIUncompressedLayer, types.DockerUncompressedLayer:
			add = c.compress
		}
		l, err := add(ctx, layers[i], descs[i])
		if err != nil {
			return nil, err
		}
		layers[i] = l
		descs[i].MediaType, descs[i].Size, descs[i].Digest = l.Blob.MediaType, l.Blob.Size, l.Blob.Digest
	}
	return oci.Assemble(p.Config, descs, layers...)
}

// compress adds a layer to the spool whose content is an uncompressed tar, and compresses
// it. The digest of an uncompressed layer is also its diff ID.
func (c *copier) compress(ctx context.Context, l v1.Layer, desc v1.Descriptor) (archive.Layer, error) {
	want, err := l.DiffID()
	if err != nil {
		return archive.Layer{}, fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	done, ok := c.spool.draft.Compressed(want)
	if !ok {
		done, err = c.spool.draft.Compress(func(w io.Writer) error { return c.write(ctx, w, l) })
	}
	switch got := done.Blob.DiffID; {
	case err != nil:
		return done, err
	case desc.Digest != (v1.Hash{}) && got != desc.Digest:
		return done, &oci.MismatchError{Digest: desc.Digest, Sum: got.Hex}
	case got != want:
		return done, fmt.Errorf("layer %s of the image has the digest %s in its config", got, want)
	default:
		return done, nil
	}
}

// copy adds a layer to the spool unchanged.
func (c *copier) copy(ctx context.Context, l v1.Layer, desc v1.Descriptor) (done archive.Layer, err error) {
	blob := oci.Blob{Digest: desc.Digest, Size: desc.Size, MediaType: desc.MediaType}
	if blob.DiffID, err = l.DiffID(); err != nil {
		return done, fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	rc, err := l.Compressed()
	if err != nil {
		return done, fmt.Errorf("opening a layer: %w", err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	g, ctx := errgroup.WithContext(ctx)
	if desc.Digest == (v1.Hash{}) {
		// A Docker archive contains only the diff ID of a layer. To verify it, the layer
		// must be decompressed.
		left := int64(oci.MaxUnpacked)
		g.Go(func() error { return oci.CheckDiffID(ctx, l, &left) })
	} else if rc, err = oci.Verify(rc, desc.Digest, desc.Size); err != nil {
		return done, err
	}
	g.Go(func() (err error) {
		done, err = c.spool.draft.Copy(ctx, io.TeeReader(rc, c), blob)
		return err
	})
	err = g.Wait() // g.Wait must return before done is read
	return done, err
}

func (c *copier) write(ctx context.Context, w io.Writer, l v1.Layer) (err error) {
	rc, err := l.Compressed()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	_, err = oci.Copy(ctx, w, io.TeeReader(oci.Unverified(rc), c))
	return err
}

func (c *copier) Write(p []byte) (int, error) {
	c.read = true
	return c.count.Write(p)
}
