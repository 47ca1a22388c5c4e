package image

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg"
)

// worthKeeping is the least number of bytes of a failed download that are kept.
const worthKeeping = 1 << 20

// save writes a to path, if it is a package. A device or a pipe is written to
// directly.
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

// writePackage completes a draft of a package, once more after a layer with another
// digest.
func (f *fetcher) writePackage(draft *archive.FileDraft, a xpkg.Artifact, report progress.Func) error {
	return oci.RetryMismatch(func() (err error) {
		if f.here, err = draft.Blobs(); err != nil {
			return err
		}
		if err = f.check(a); err == nil {
			err = draft.Resume(f.ctx, a, report)
		}
		var wrong *oci.MismatchError
		if errors.As(err, &wrong) {
			err = errors.Join(err, draft.Drop(wrong.Digest))
		}
		return err
	})
}

// check returns an error unless a is a package. It reads each layer that it needs to
// the end: a layer that was corrupted on the way is that error, and not what is
// wrong with its content.
func (f *fetcher) check(a xpkg.Artifact) error {
	var corrupted error
	f.verified = func(err error) { corrupted = errors.Join(corrupted, err) }
	defer func() { f.verified = nil }()
	if err := xpkg.Check(f.ctx, a); err != nil {
		return cmp.Or(corrupted, err)
	}
	return nil
}

// layer opens a layer, which check reads to its end.
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

// A wholeLayer is read to its end before it is closed.
type wholeLayer struct {
	io.ReadCloser
	verified func(error)
}

// Close implements io.Closer.
func (l *wholeLayer) Close() error {
	_, err := io.Copy(io.Discard, l.ReadCloser)
	l.verified(err)
	return l.ReadCloser.Close()
}

// keep keeps what was downloaded, and says so in a hint.
func keep(draft *archive.FileDraft, err error) error {
	size, keepErr := draft.Keep(worthKeeping)
	if keepErr != nil || size == 0 {
		return errors.Join(err, keepErr)
	}
	return hint.Wrap(err, fmt.Sprintf("run it again: %d MiB have arrived, and are not fetched again for a day", size>>20))
}
