package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

type fetcher struct {
	// ctx is the context of all reads, including later reads of layers.
	ctx   context.Context
	blobs *remote.Repository
	// local has the first bytes of blobs, from an earlier download. Only the rest of such a
	// blob is fetched.
	local map[v1.Hash]*io.SectionReader
	// verified, if not nil, is called for each layer that was read to its end, with the error
	// of its verification or nil.
	verified func(error)
	// failed is true if the registry's response for a blob could not be read.
	failed atomic.Bool
}

// load returns the image or index that top describes. Its layers are fetched
// when they are read.
func (f *fetcher) load(top v1.Descriptor) (xpkg.Artifact, error) {
	w := oci.Walk{Budget: oci.NewBudget(), Read: f.read}
	return w.Load(f.ctx, top, func(d v1.Descriptor, diffID v1.Hash) (v1.Layer, error) {
		return oci.Stored(func() (io.ReadCloser, error) { return f.layer(d) },
			oci.Blob{Digest: d.Digest, Size: d.Size, DiffID: diffID, MediaType: d.MediaType})
	})
}

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

// open returns a blob: the bytes in local, and the rest from the registry.
func (f *fetcher) open(d v1.Descriptor) io.ReadCloser {
	local := f.local[d.Digest]
	if local == nil || local.Size() > d.Size {
		local = io.NewSectionReader(nil, 0, 0)
	}
	rest := &fetched{f.blobs.Stream(f.ctx, d, local.Size()), &f.failed}
	return oci.ReadCloser{Reader: io.MultiReader(io.NewSectionReader(local, 0, local.Size()), rest), Closer: rest}
}

// A fetched reads the registry's response for a blob. It sets failed if a read fails.
type fetched struct {
	io.ReadCloser
	failed *atomic.Bool
}

func (b *fetched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(true)
	}
	return n, err
}

// worthKeeping is the minimum size in bytes of a failed download that is kept for the next
// pull.
const worthKeeping = 1 << 20

// save writes the artifact a to path, or returns an error if a is not a package. A device
// or pipe is written without a temporary file.
func (f *fetcher) save(path string, a xpkg.Artifact, report progress.Func) error {
	if _, ok := fsx.TemporaryDir(path); !ok {
		if err := f.check(a); err != nil {
			return err
		}
		return archive.WriteFiles(f.ctx, report, archive.Target{Path: path, Artifact: a})
	}
	digest, err := a.Digest()
	if err != nil {
		return err
	}
	draft, err := archive.ResumeDraft(path, digest)
	if err != nil {
		return err
	}
	err = f.writePackage(draft, a, report)
	if err != nil && (f.failed.Load() || f.ctx.Err() != nil) {
		err = keep(draft, err)
	}
	return errors.Join(err, draft.Close())
}

// writePackage completes a draft of a package. If the digest of a layer is wrong, it fetches
// that layer once more.
func (f *fetcher) writePackage(draft *archive.FileDraft, a xpkg.Artifact, report progress.Func) error {
	return oci.RetryMismatch(func() (err error) {
		if f.local, err = draft.Blobs(); err != nil {
			return err
		}
		if err = f.check(a); err == nil {
			err = draft.Resume(f.ctx, a, report)
		}
		if wrong, ok := errors.AsType[*oci.MismatchError](err); ok {
			err = errors.Join(err, draft.Drop(wrong.Digest))
		}
		return err
	})
}

// check returns an error if a is not a package. It verifies the digest of each layer that
// it reads. For a corrupted layer, it returns a digest error and not an error about the
// content.
func (f *fetcher) check(a xpkg.Artifact) error {
	var corrupted error
	f.verified = func(err error) { corrupted = errors.Join(corrupted, err) }
	defer func() { f.verified = nil }()
	if err := xpkg.Check(f.ctx, a); err != nil {
		return cmp.Or(corrupted, err)
	}
	return nil
}

// layer opens a layer. While check runs, closing the layer verifies it.
func (f *fetcher) layer(d v1.Descriptor) (io.ReadCloser, error) {
	blob := f.open(d)
	if f.verified == nil {
		return blob, nil
	}
	checked, err := oci.Verify(blob, d.Digest, d.Size)
	if err != nil {
		return nil, errors.Join(err, blob.Close())
	}
	return &wholeLayer{checked, f.verified}, nil
}

// A wholeLayer reads its layer to the end when it is closed, so that the digest is verified.
type wholeLayer struct {
	io.ReadCloser
	verified func(error)
}

func (l *wholeLayer) Close() error {
	_, err := io.Copy(io.Discard, l.ReadCloser)
	l.verified(err)
	return l.ReadCloser.Close()
}

// keep keeps the downloaded bytes for the next pull, and adds a hint with their number to
// err.
func keep(draft *archive.FileDraft, err error) error {
	size, keepErr := draft.Keep(worthKeeping)
	if keepErr != nil || size == 0 {
		return errors.Join(err, keepErr)
	}
	return hint.Wrap(err, fmt.Sprintf("run the command again within a day: it continues after the first %d MiB", size>>20))
}
