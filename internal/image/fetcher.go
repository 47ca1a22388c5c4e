package image

import (
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
	ctx   context.Context
	blobs *remote.Repository
	// here are the first bytes of blobs, which are not fetched.
	here map[v1.Hash]*io.SectionReader
	// verified is called with the error of each layer that was read to its end, if it
	// is not nil.
	verified func(error)
	// failed is true once a blob could not be read.
	failed atomic.Bool
}

// load returns the image or index that top describes. Its layers are fetched when
// they are read.
func (f *fetcher) load(top v1.Descriptor) (xpkg.Artifact, error) {
	w := oci.Walk{Budget: oci.NewBudget(), Read: f.read}
	return w.Load(f.ctx, top, func(d v1.Descriptor, diffID v1.Hash) (v1.Layer, error) {
		return oci.Stored(func() (io.ReadCloser, error) { return f.layer(d) },
			oci.Blob{Digest: d.Digest, Size: d.Size, DiffID: diffID, MediaType: d.MediaType})
	})
}

// read fetches a manifest or config.
func (f *fetcher) read(ctx context.Context, d v1.Descriptor) (raw []byte, err error) {
	if d.MediaType.IsImage() || d.MediaType.IsIndex() {
		m, err := f.blobs.Manifest(ctx, d.Digest.String())
		return m.Raw, err
	}
	err = oci.RetryMismatch(func() error {
		rc, err := oci.Verify(f.open(d), d.Digest, d.Size)
		if err != nil {
			return err
		}
		raw, err = io.ReadAll(rc)
		return errors.Join(err, rc.Close())
	})
	if err != nil {
		return nil, fmt.Errorf("reading config %s: %w", d.Digest, err)
	}
	return raw, nil
}

// open returns a blob: the bytes in here, and the rest from the registry.
func (f *fetcher) open(d v1.Descriptor) io.ReadCloser {
	here := f.here[d.Digest]
	if here == nil || here.Size() > d.Size {
		here = io.NewSectionReader(nil, 0, 0)
	}
	rest := &fetched{f.blobs.Stream(f.ctx, d, here.Size()), &f.failed}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.NewSectionReader(here, 0, here.Size()), rest), rest}
}

// A fetched blob remembers whether it could not be read.
type fetched struct {
	io.ReadCloser
	failed *atomic.Bool
}

// Read implements io.Reader.
func (b *fetched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(true)
	}
	return n, err
}
