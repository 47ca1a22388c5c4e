package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A fetcher reads an artifact from a repository.
type fetcher struct {
	// ctx is that of all reading, that of layers later on included.
	ctx    context.Context
	blobs  *remote.Blobs
	budget *budget
	// here is what need not be fetched of blobs, from their starts on.
	here map[v1.Hash]*io.SectionReader
	// judged hears how layers ended that are read now, if it is not nil.
	judged func(error)
	// failed is true once a blob could not be read.
	failed atomic.Bool
}

// artifact returns an image or index with its metadata in memory: these bytes,
// and no others, are checked, written and asked again.
func (f *fetcher) artifact(raw []byte, depth int) (xpkg.Artifact, error) {
	if depth > oci.MaxDepth {
		return nil, fmt.Errorf("its indexes are nested more than %d deep", oci.MaxDepth)
	}
	if err := f.budget.take(int64(len(raw))); err != nil {
		return nil, err
	}
	index, err := isIndex(raw)
	if err != nil {
		return nil, err
	}
	if index {
		return f.index(raw, depth)
	}
	return f.image(raw)
}

func (f *fetcher) index(raw []byte, depth int) (xpkg.Artifact, error) {
	m, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	children := make([]oci.Artifact, 0, len(m.Manifests))
	for _, desc := range m.Manifests {
		if !desc.MediaType.IsImage() && !desc.MediaType.IsIndex() {
			return nil, fmt.Errorf("its %s has media type %q, which is neither an image nor an index", desc.Digest, desc.MediaType)
		}
		c, err := f.blobs.Manifest(f.ctx, desc.Digest.String())
		if err != nil {
			return nil, err
		}
		if size := int64(len(c.Raw)); size != desc.Size {
			return nil, fmt.Errorf("its manifest %s has %d bytes, and should have %d", desc.Digest, size, desc.Size)
		}
		child, err := f.artifact(c.Raw, depth+1)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return oci.Index(raw, children...)
}

func (f *fetcher) image(raw []byte) (xpkg.Artifact, error) {
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	if err := f.budget.take(m.Config.Size); err != nil {
		return nil, err
	}
	if err := f.budget.layers(m.Layers); err != nil {
		return nil, err
	}
	config, err := f.read(m.Config)
	if err != nil {
		return nil, fmt.Errorf("reading config %s: %w", m.Config.Digest, err)
	}
	diffIDs := diffIDsOf(m, config)
	layers := make([]v1.Layer, 0, len(m.Layers))
	for i, d := range m.Layers {
		open := func() (io.ReadCloser, error) { return f.layer(d) }
		l, err := oci.Stored(open, oci.Blob{Digest: d.Digest, Size: d.Size, DiffID: diffIDs[i], MediaType: d.MediaType})
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return oci.Image(raw, config, layers...)
}

// diffIDsOf returns the digests of the layers' tars. Where the config does not say
// them, as with artifacts that are no images, those of the layers stand for them.
func diffIDsOf(m *v1.Manifest, config []byte) []v1.Hash {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err == nil && oci.IsImage(m) && len(c.RootFS.DiffIDs) == len(m.Layers) {
		return c.RootFS.DiffIDs
	}
	ids := make([]v1.Hash, 0, len(m.Layers))
	for _, d := range m.Layers {
		ids = append(ids, d.Digest)
	}
	return ids
}

// read returns a config, which may stand in its descriptor (OCI image spec,
// descriptor.md, "data"). One with another digest is asked for once more.
func (f *fetcher) read(d v1.Descriptor) (config []byte, err error) {
	if sum := describe(d.Data); len(d.Data) > 0 && sum.Digest == d.Digest && sum.Size == d.Size {
		return d.Data, nil
	}
	for range wrongTries {
		var rc io.ReadCloser
		if rc, err = oci.Verify(f.open(d), d.Digest, d.Size); err != nil {
			return nil, err
		}
		config, err = io.ReadAll(rc)
		if err = errors.Join(err, rc.Close()); !errors.As(err, new(*oci.MismatchError)) {
			break
		}
	}
	return config, err
}

// wrongTries is how often a blob is fetched that comes with another digest.
const wrongTries = 2

// open returns a blob: what is here of it, and the rest from the registry.
func (f *fetcher) open(d v1.Descriptor) io.ReadCloser {
	b := &fetched{fetcher: f}
	var from int64
	if here := f.here[d.Digest]; here != nil && here.Size() <= d.Size {
		from = here.Size()
		b.here = io.NewSectionReader(here, 0, from)
	}
	if from < d.Size || from == 0 {
		b.rest = f.blobs.Stream(f.ctx, d, from)
	}
	return b
}

// fetched is a blob that is read.
type fetched struct {
	*fetcher
	here *io.SectionReader
	rest io.ReadCloser
}

// Read implements io.Reader.
func (b *fetched) Read(p []byte) (int, error) {
	if b.here != nil {
		n, err := b.here.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		b.here = nil
	}
	if b.rest == nil {
		return 0, io.EOF
	}
	n, err := b.rest.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(true)
	}
	return n, err
}

// Close implements io.Closer.
func (b *fetched) Close() error {
	if b.rest == nil {
		return nil
	}
	return b.rest.Close()
}
