package oci

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Blob says what the bytes of a layer are.
type Blob struct {
	// Digest and Size are those of the layer as it is stored.
	Digest v1.Hash
	Size   int64
	// DiffID is the digest of the layer's tar, not compressed.
	DiffID v1.Hash
	// MediaType says how the layer is compressed, if it is.
	MediaType types.MediaType
}

type layer struct {
	Blob
	open func() (io.ReadCloser, error)
	// known is true for bytes that need no check.
	known bool
}

// Layer returns a layer whose bytes, as stored, are the first b.Size of r. A
// reader of it fails at the end if they are fewer or have another digest.
func Layer(r io.ReaderAt, b Blob) (v1.Layer, error) {
	return Stored(first(r, b.Size), b)
}

// Stored returns a layer whose bytes, as stored, are what open opens: each time
// that they are read, from the first one on. A reader of it fails at the end if
// they are more or fewer than b.Size or have another digest.
func Stored(open func() (io.ReadCloser, error), b Blob) (v1.Layer, error) {
	return partial.CompressedToLayer(&layer{b, open, false})
}

// OwnLayer returns a layer as Layer does, of bytes that this process has written
// and whose digest it has computed: it is not computed again.
func OwnLayer(r io.ReaderAt, b Blob) (v1.Layer, error) { return Trusted(first(r, b.Size), b) }

// Trusted returns a layer as Stored does, whose digest the readers that open
// returns verify themselves, if it has to be verified.
func Trusted(open func() (io.ReadCloser, error), b Blob) (v1.Layer, error) {
	return partial.CompressedToLayer(&layer{b, open, true})
}

// first returns what opens the first size bytes of r.
func first(r io.ReaderAt, size int64) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(r, 0, size)), nil }
}

func (l *layer) Digest() (v1.Hash, error)            { return l.Blob.Digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.Blob.DiffID, nil }
func (l *layer) Size() (int64, error)                { return l.Blob.Size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return l.Blob.MediaType, nil }

func (l *layer) Compressed() (io.ReadCloser, error) {
	stored, err := l.open()
	if err != nil {
		return nil, err
	}
	if l.known {
		return &verifier{stored, nil, l.Blob.Digest, l.Blob.Size}, nil
	}
	checked, err := Verify(stored, l.Blob.Digest, l.Blob.Size)
	if err != nil {
		return nil, errors.Join(err, stored.Close())
	}
	return checked, nil
}

type verifier struct {
	io.ReadCloser
	sum    hash.Hash // nil if the digest is known to be right
	digest v1.Hash
	left   int64
}

// Verify returns a reader of r that fails where r holds more or fewer bytes
// than size, and at the end if they do not have the digest. The digest must be
// a SHA-256 sum. Closing it closes r. A reader that does so already is returned
// as it is.
func Verify(r io.ReadCloser, digest v1.Hash, size int64) (io.ReadCloser, error) {
	if v, ok := r.(*verifier); ok && v.digest == digest && v.left == size {
		return v, nil
	}
	if digest.Algorithm != "sha256" {
		return nil, fmt.Errorf("digest %s is not a SHA-256 sum", digest)
	}
	return &verifier{r, sha256.New(), digest, size}, nil
}

// Unverified returns what Verify was given for a reader of its own, for those
// who take the sum themselves and compare it. Any other stays as it is.
func Unverified(r io.ReadCloser) io.ReadCloser {
	if v, ok := r.(*verifier); ok {
		return v.ReadCloser
	}
	return r
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	if v.sum != nil {
		v.sum.Write(p[:n])
	}
	if v.left -= int64(n); v.left < 0 {
		return 0, fmt.Errorf("%s is longer than its descriptor says", v.digest)
	}
	if err == io.EOF {
		return n, v.atEnd()
	}
	return n, err
}

func (v *verifier) atEnd() error {
	if v.left > 0 {
		return fmt.Errorf("%s is %d bytes shorter than its descriptor says", v.digest, v.left)
	}
	if v.sum == nil {
		return io.EOF
	}
	if got := fmt.Sprintf("%x", v.sum.Sum(nil)); got != v.digest.Hex {
		return &MismatchError{v.digest, got}
	}
	return io.EOF
}

// A MismatchError is that of content which has another digest than it should.
type MismatchError struct {
	// Digest is what it should have, and Sum the hexadecimal digits of what it
	// has.
	Digest v1.Hash
	Sum    string
}

// Error implements error.
func (e *MismatchError) Error() string {
	algorithm := strings.Replace(e.Digest.Algorithm, "sha", "SHA-", 1)
	return fmt.Sprintf("%s has other content than its digest says: its %s sum is %s", e.Digest, algorithm, e.Sum)
}

// RetryMismatch calls fetch, and once more if the content arrived with another
// digest: it may have been corrupted on the way.
func RetryMismatch(fetch func() error) error {
	err := fetch()
	if errors.As(err, new(*MismatchError)) {
		err = fetch()
	}
	return err
}
