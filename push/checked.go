package push

import (
	"context"
	"fmt"
	"hash"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// checked is a blob that is read from a source, of which each byte goes into
// its sum when it is read for the first time. An upload that goes on may skip
// bytes or read them again: whether all of it arrived is for the registry to
// check then, as the OCI distribution spec ("Pushing blobs") has it do anyway.
type checked struct {
	source *source
	desc   v1.Descriptor

	mu  sync.Mutex
	sum hash.Hash
	at  int64 // how much is in sum
}

// open returns the bytes from one on. Those who read to the end of a blob that
// has not its digest get a *oci.MismatchError; the next one to open it from the
// start begins afresh.
func (c *checked) open(ctx context.Context, from int64) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sum == nil {
		var err error
		if c.sum, err = v1.Hasher(c.desc.Digest.Algorithm); err != nil {
			return nil, err
		}
	}
	return &checkedReader{c, c.source.repo.Stream(ctx, c.desc, from), from}, nil
}

// take adds what was read at pos. It fails at the end of a blob that has not its
// digest.
func (c *checked) take(p []byte, pos int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := pos + int64(len(p))
	if c.sum == nil || pos > c.at || end < c.at {
		return nil
	}
	c.sum.Write(p[c.at-pos:])
	if c.at = end; c.at < c.desc.Size {
		return nil
	}
	got := fmt.Sprintf("%x", c.sum.Sum(nil))
	if got == c.desc.Digest.Hex {
		return nil
	}
	c.sum, c.at = nil, 0
	return &oci.MismatchError{Digest: c.desc.Digest, Sum: got}
}

type checkedReader struct {
	*checked
	stream io.ReadCloser
	pos    int64
}

// Read implements io.Reader. Bytes are given out only after they are checked, so
// that the last ones of a wrong blob never are.
func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.stream.Read(p)
	if err := r.take(p[:n], r.pos); err != nil {
		return 0, r.explain(err)
	}
	r.pos += int64(n)
	if err != nil && err != io.EOF {
		err = r.explain(err)
	}
	return n, err
}

// explain says that it is the source which failed.
func (r *checkedReader) explain(err error) error {
	return r.source.client.Explain(r.source.ref, err)
}

// Close implements io.Closer.
func (r *checkedReader) Close() error { return r.stream.Close() }
