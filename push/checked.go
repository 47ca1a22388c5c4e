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

// checked is a blob of a source. Each byte is added to its digest when it is read for
// the first time. An upload that resumes may skip bytes or read them again; the
// registry verifies the digest then, as the OCI distribution spec ("Pushing blobs")
// requires.
type checked struct {
	source *source
	desc   v1.Descriptor

	mu  sync.Mutex
	sum hash.Hash
	at  int64 // number of bytes in sum
}

// open returns the bytes from offset from. Reading to the end of a blob with another
// digest fails with a *oci.MismatchError. The digest is computed anew when the blob
// is opened from its start after that.
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

// add adds the bytes at pos to the digest. It fails at the end of a blob with another
// digest.
func (c *checked) add(p []byte, pos int64) error {
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

// Read implements io.Reader. It never returns the last bytes of a blob with another
// digest.
func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.stream.Read(p)
	if err := r.add(p[:n], r.pos); err != nil {
		return 0, r.explain(err)
	}
	r.pos += int64(n)
	if err != nil && err != io.EOF {
		err = r.explain(err)
	}
	return n, err
}

// explain describes an error of the source registry.
func (r *checkedReader) explain(err error) error {
	return r.source.client.Explain(r.source.ref, err)
}

// Close implements io.Closer.
func (r *checkedReader) Close() error { return r.stream.Close() }
