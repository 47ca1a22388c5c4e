package oci

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Whiteout is the prefix of a name in a layer that removes a file: the entry ".wh.NAME" removes NAME of
// the layers below (OCI image spec, "Whiteouts"). The entry Opaque removes all files of the layers below
// from its directory. Other names that begin with ".wh..wh." are internal to AUFS.
const (
	Whiteout = ".wh."
	Opaque   = Whiteout + Whiteout + ".opq"
)

// A Blob describes the bytes of a layer.
type Blob struct {
	// Digest and Size are the digest and size of the layer as it is stored, usually
	// compressed.
	Digest v1.Hash
	Size   int64
	// DiffID is the digest of the layer's uncompressed tar.
	DiffID v1.Hash
	// MediaType is the media type of the layer as it is stored.
	MediaType types.MediaType
}

type layer struct {
	Blob
	open func() (io.ReadCloser, error)
	// trusted is true if reading the layer does not verify its digest.
	trusted bool
}

// Layer returns the layer that is stored in the first b.Size bytes of r. Reading the layer
// to its end verifies the digest.
func Layer(r io.ReaderAt, b Blob) (v1.Layer, error) {
	return Stored(first(r, b.Size), b)
}

// Stored returns a layer whose stored bytes are read from the reader that open returns.
// Reading the layer verifies its size and, at the end, its digest.
func Stored(open func() (io.ReadCloser, error), b Blob) (v1.Layer, error) {
	return partial.CompressedToLayer(&layer{b, open, false})
}

// OwnLayer is Layer for bytes that this process wrote and hashed. Reading the layer does not
// verify the digest.
func OwnLayer(r io.ReaderAt, b Blob) (v1.Layer, error) { return Trusted(first(r, b.Size), b) }

// Trusted is Stored without verification of the digest: the readers that open returns must
// verify it if necessary.
func Trusted(open func() (io.ReadCloser, error), b Blob) (v1.Layer, error) {
	return partial.CompressedToLayer(&layer{b, open, true})
}

// A CountedLayer writes the stored bytes that are read from it also to a counter.
type CountedLayer struct {
	v1.Layer
	Counter io.Writer
}

// Compressed is Layer.Compressed with the counter.
func (l CountedLayer) Compressed() (io.ReadCloser, error) {
	rc, err := l.Layer.Compressed()
	return ReadCloser{io.TeeReader(rc, l.Counter), rc}, err
}

// first returns a function that opens the first size bytes of r.
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
	if l.trusted {
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
	sum    hash.Hash // nil if the digest is not verified
	digest v1.Hash
	left   int64
}

// Verify returns a reader of r that verifies the size and the SHA-256 digest of the content.
// Reading fails if r has more or fewer than size bytes, and fails at the end if the digest
// differs. Closing the reader closes r. If r is already the reader of a layer with this size
// and digest, Verify returns r.
func Verify(r io.ReadCloser, digest v1.Hash, size int64) (io.ReadCloser, error) {
	if v, ok := r.(*verifier); ok && v.digest == digest && v.left == size {
		return v, nil
	}
	if digest.Algorithm != "sha256" {
		return nil, fmt.Errorf("digest %s is not a SHA-256 sum", digest)
	}
	sum := sha256.New()
	if size > 2*hashBlock {
		sum = &concurrentHash{Hash: sum, full: make(chan []byte, hashBlocks), free: make(chan []byte, hashBlocks)}
	}
	return &verifier{r, sum, digest, size}, nil
}

// hashBlock is the size in bytes of the blocks of a concurrentHash, and hashBlocks their
// maximum number.
const (
	hashBlock  = 512 << 10
	hashBlocks = 4
)

// A concurrentHash computes a hash while its caller continues: full blocks are hashed while the
// next one is filled.
type concurrentHash struct {
	hash.Hash
	filled     []byte // the block that is being filled, or nil
	blocks     int
	full, free chan []byte
	mu         sync.Mutex // held while a full block is hashed
	hashing    sync.WaitGroup
}

// space returns the unused part of the current block, which is never empty.
func (h *concurrentHash) space() []byte {
	if h.filled == nil && len(h.free) == 0 && h.blocks < hashBlocks {
		h.blocks++
		h.filled = make([]byte, 0, hashBlock)
	}
	if h.filled == nil {
		h.filled = <-h.free
	}
	return h.filled[len(h.filled):hashBlock]
}

// add adds the first n bytes of space to the hash. They must not be changed afterwards.
func (h *concurrentHash) add(n int) {
	h.filled = h.filled[:len(h.filled)+n]
	if len(h.filled) < hashBlock {
		return
	}
	h.full <- h.filled
	h.filled = nil
	h.hashing.Go(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		block := <-h.full // Under the lock, blocks are hashed in order.
		h.Hash.Write(block)
		h.free <- block[:0]
	})
}

// Write implements io.Writer. It returns no error.
func (h *concurrentHash) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(h.space(), rest)
		h.add(n)
		rest = rest[n:]
	}
	return len(p), nil
}

// Sum implements hash.Hash.
func (h *concurrentHash) Sum(b []byte) []byte {
	h.hashing.Wait()
	h.Hash.Write(h.filled)
	h.filled = h.filled[:0]
	return h.Hash.Sum(b)
}

// Unverified removes the verification of Verify from r: it returns the reader that was
// passed to Verify. Callers must compute and compare the digest themselves. Any other reader
// is returned unchanged.
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
	return v.verify(n, err)
}

// copyInterval is how long copyTo waits for a full block before it writes an incomplete one, so
// that progress is visible and little is lost if the process is killed.
const copyInterval = 200 * time.Millisecond

// copyTo copies the content, which it reads from in, to w. It does not copy the bytes in memory:
// it writes from the blocks that are hashed.
func (v *verifier) copyTo(w io.Writer, in io.Reader, sum *concurrentHash) (written int64, err error) {
	for err == nil {
		space, n := sum.space(), 0
		for began := time.Now(); n < len(space) && err == nil && time.Since(began) < copyInterval; {
			var read int
			read, err = in.Read(space[n:])
			n += read
		}
		sum.add(n)
		if n, err = v.verify(n, err); n > 0 {
			n, writeErr := w.Write(space[:n])
			written += int64(n)
			err = cmp.Or(writeErr, err)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return written, err
}

// verify returns the results of Read for n and err, the results of reading the content.
func (v *verifier) verify(n int, err error) (int, error) {
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

// A MismatchError is the error of content whose digest differs from the expected one.
type MismatchError struct {
	// Digest is the expected digest. Sum has the hexadecimal digits of the actual digest.
	Digest v1.Hash
	Sum    string
}

// Error implements error.
func (e *MismatchError) Error() string {
	algorithm := strings.Replace(e.Digest.Algorithm, "sha", "SHA-", 1)
	return fmt.Sprintf("%s has other content than its digest says: its %s sum is %s", e.Digest, algorithm, e.Sum)
}

// RetryMismatch calls fetch. If fetch returns a MismatchError, RetryMismatch calls it once
// more, because the content may have been corrupted in transit.
func RetryMismatch(fetch func() error) error {
	err := fetch()
	if errors.As(err, new(*MismatchError)) {
		err = fetch()
	}
	return err
}
