package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg"
)

// FromTarball returns the image in a tar file that docker save wrote, or the
// images of an OCI layout in a tar. The file may be compressed with gzip or zstd,
// and may be a pipe. Layers that are compressed stay as they are; the others are
// compressed, in one pass. Errors name the file. It may be replaced once the
// images are here.
func FromTarball(ctx context.Context, file string, opts Options) (*Images, error) {
	s, err := newSpool(opts)
	if err != nil {
		return nil, err
	}
	opts.Progress.Step("reading " + file)
	all, err := s.fromTarball(ctx, file)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return all, nil
}

func (s *spool) fromTarball(ctx context.Context, file string) (*Images, error) {
	stream, err := isStream(file)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image from %q: %w", file, fsx.Cause(err))
	}
	if stream {
		return s.fromStream(ctx, file)
	}
	f, err := archive.Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	all, err := s.imagesIn(ctx, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading a runtime image from %q: %w", file, err)
	}
	return all, nil
}

// isStream tells whether a file can only be read from its start to its end.
func isStream(file string) (_ bool, err error) {
	if info, err := os.Stat(file); err != nil || info.IsDir() || !info.Mode().IsRegular() {
		return err == nil && !info.IsDir(), err
	}
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return false, nil // Too short for anything: archive.Open says so.
	}
	return oci.IsGzip(head) || oci.IsZstd(head), nil
}

func (s *spool) fromStream(ctx context.Context, file string) (_ *Images, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image from %q: %w", file, fsx.Cause(err))
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = fmt.Errorf("reading a runtime image from %q: %w", file, err)
		}
	}()
	count := &progress.Counter{Text: "reading " + file, Report: s.report}
	if info, err := f.Stat(); err == nil {
		count.Total = info.Size()
	}
	read, err := archive.Read(ctx, io.TeeReader(f, count), s.draft.Draft)
	if err != nil {
		return nil, err
	}
	count.Finish()
	return s.imagesOf(ctx, read.Artifact)
}

// imagesIn returns the images of an archive. That of a Docker archive has no
// manifest before its layers are read: it gets one of what was read.
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
	return s.take(ctx, p)
}

// unhashedParts takes an image apart whose layers have no digest yet.
func unhashedParts(img v1.Image) (p oci.Parts, err error) {
	if p.Config, err = img.RawConfigFile(); err != nil {
		return p, fmt.Errorf("reading its config: %w", err)
	}
	if p.Layers, err = img.Layers(); err != nil {
		return p, fmt.Errorf("reading its layers: %w", err)
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

// imagesOf returns the images of an artifact that are wanted. Their layers are
// read now.
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
	return s.take(ctx, parts...)
}

// take reads the layers of images into the spool, in the order of their
// manifests.
func (s *spool) take(ctx context.Context, images ...oci.Parts) (*Images, error) {
	if len(images) == 0 {
		return nil, errors.New("it holds no image")
	}
	t := &taker{spool: s, count: &progress.Counter{Text: "reading the runtime image", Report: s.report}}
	for _, p := range images {
		for _, d := range p.Descriptors {
			t.count.Total += d.Size
		}
	}
	all := &Images{spool: s}
	for _, p := range images {
		img, err := t.image(ctx, p)
		if err != nil {
			return nil, err
		}
		all.All = append(all.All, img)
	}
	if t.read {
		t.count.Finish()
	}
	return all, nil
}

// A taker takes layers into a spool, each once.
type taker struct {
	spool *spool
	count *progress.Counter
	// read is false as long as the spool had all layers.
	read bool
}

func (t *taker) image(ctx context.Context, p oci.Parts) (v1.Image, error) {
	descs, layers := slices.Clone(p.Descriptors), slices.Clone(p.Layers)
	for i := range layers {
		take := t.copy
		switch descs[i].MediaType {
		case types.OCIUncompressedLayer, types.DockerUncompressedLayer:
			take = t.compress
		}
		l, blob, err := take(ctx, layers[i], descs[i])
		if err != nil {
			return nil, err
		}
		layers[i] = l
		descs[i].MediaType, descs[i].Size, descs[i].Digest = blob.MediaType, blob.Size, blob.Digest
	}
	return oci.Assemble(p.Config, descs, layers...)
}

// compress takes a layer that is a plain tar: its digest is that of the tar.
func (t *taker) compress(ctx context.Context, l v1.Layer, desc v1.Descriptor) (v1.Layer, oci.Blob, error) {
	want, err := l.DiffID()
	if err != nil {
		return nil, oci.Blob{}, fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	done, blob, ok := t.spool.draft.Compressed(want)
	if !ok {
		done, blob, err = t.spool.layer(func(w io.Writer) error { return t.write(ctx, w, l) })
	}
	switch {
	case err != nil:
		return nil, blob, err
	case desc.Digest != (v1.Hash{}) && blob.DiffID != desc.Digest:
		return nil, blob, fmt.Errorf("its layer %s has other content than its digest says: its SHA-256 sum is %s", desc.Digest, blob.DiffID)
	case blob.DiffID != want:
		return nil, blob, fmt.Errorf("its layer %s is %s in its config", blob.DiffID, want)
	default:
		return done, blob, nil
	}
}

// copy takes a layer as it is stored.
func (t *taker) copy(ctx context.Context, l v1.Layer, desc v1.Descriptor) (_ v1.Layer, blob oci.Blob, err error) {
	blob = oci.Blob{Digest: desc.Digest, Size: desc.Size, MediaType: desc.MediaType}
	if blob.DiffID, err = l.DiffID(); err != nil {
		return nil, blob, fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	rc, err := l.Compressed()
	if err != nil {
		return nil, blob, fmt.Errorf("opening a layer: %w", err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	var done v1.Layer
	g, ctx := errgroup.WithContext(ctx)
	if desc.Digest == (v1.Hash{}) {
		g.Go(func() error { return proven(ctx, l) })
	} else if rc, err = oci.Verify(rc, desc.Digest, desc.Size); err != nil {
		return nil, blob, err
	}
	g.Go(func() (err error) {
		done, err = t.spool.draft.Copy(ctx, t.counted(rc), &blob)
		return err
	})
	err = g.Wait()
	return done, blob, err
}

// proven makes sure that a layer is what its config says: in a Docker archive,
// nothing else says what it has to be. Where a manifest gives the digest of what
// is stored, that is checked, and costs less.
func proven(ctx context.Context, l v1.Layer) error {
	left := int64(oci.MaxUnpacked)
	return oci.CheckDiffID(ctx, l, &left)
}

func (t *taker) write(ctx context.Context, w io.Writer, l v1.Layer) (err error) {
	rc, err := l.Compressed()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	_, err = io.Copy(w, oci.Reader(ctx, t.counted(oci.Unverified(rc))))
	return err
}

// counted returns a reader of r that tells of what is read.
func (t *taker) counted(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if n > 0 {
			t.read = true
			_, _ = t.count.Write(p[:n])
		}
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
