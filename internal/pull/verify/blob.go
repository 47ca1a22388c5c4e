package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

// tries is how often a blob is asked for whose stream breaks off.
const tries = 3

// A blob is one on its way.
type blob struct {
	desc  v1.Descriptor
	sum   hash.Hash
	size  int64
	moved func(bytes int64)
}

func newBlob(d v1.Descriptor, moved func(int64)) *blob {
	return &blob{desc: d, sum: sha256.New(), moved: moved}
}

// Write implements io.Writer.
func (b *blob) Write(p []byte) (int, error) {
	b.sum.Write(p)
	b.size += int64(len(p))
	b.moved(int64(len(p)))
	return len(p), nil
}

// check reads a blob to its end, on from where a stream broke off, and compares it
// with its digest.
func (b *blob) check(ctx context.Context, from *remote.Blobs) error {
	if b.desc.Digest.Algorithm != "sha256" {
		return fmt.Errorf("digest %q is not a SHA-256 sum", b.desc.Digest)
	}
	for try := 1; ; try++ {
		again, err := b.receive(ctx, from)
		if err == nil || !again || try == tries || ctx.Err() != nil {
			return err
		}
	}
}

// receive reads what is missing. It tells whether an error may be one that is gone
// the next time.
func (b *blob) receive(ctx context.Context, from *remote.Blobs) (again bool, err error) {
	stream, start, err := from.Open(ctx, b.desc, b.size)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if start != b.size {
		b.reset()
	}
	whole := b.size == 0
	_, err = io.Copy(b, io.LimitReader(oci.Reader(ctx, stream), b.desc.Size-b.size+1))
	switch got := fmt.Sprintf("%x", b.sum.Sum(nil)); {
	case b.size > b.desc.Size:
		return false, fmt.Errorf("blob %s is longer than the %d bytes that its manifest says", b.desc.Digest, b.desc.Size)
	case err != nil:
		return true, err
	case b.size < b.desc.Size:
		return true, fmt.Errorf("blob %s ended after %d of %d bytes", b.desc.Digest, b.size, b.desc.Size)
	case got != b.desc.Digest.Hex:
		b.reset()
		return !whole, fmt.Errorf("blob %s has other content than its digest says: its SHA-256 sum is %s", b.desc.Digest, got)
	default:
		return false, nil
	}
}

func (b *blob) reset() {
	b.moved(-b.size)
	b.sum.Reset()
	b.size = 0
}
