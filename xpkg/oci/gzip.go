package oci

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/pgzip"
)

// blockSize is how much of a layer is compressed at a time. It decides the
// bytes of the result; how many blocks are compressed at once does not.
const blockSize = 1 << 20

// A Compressor turns the tar of a layer that is written to it into a gzip file
// at the fastest level, in one pass. The same tar gives the same bytes on any
// machine.
type Compressor struct {
	plain  *hasher
	zip    *pgzip.Writer
	stored counter
}

// NewCompressor returns a Compressor that writes the gzip file to dst. It must
// be closed, even after an error.
func NewCompressor(dst io.Writer) (*Compressor, error) {
	c := &Compressor{stored: counter{sum: sha256.New(), dst: dst}}
	zip, err := pgzip.NewWriterLevel(&c.stored, pgzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("starting to compress: %w", err)
	}
	if err := zip.SetConcurrency(blockSize, runtime.GOMAXPROCS(0)+1); err != nil {
		return nil, fmt.Errorf("starting to compress: %w", err)
	}
	zip.ModTime = time.Unix(0, 0) // Writes 0, "no time"; the zero Time would not.
	c.zip, c.plain = zip, newHasher()
	return c, nil
}

// Write compresses p.
func (c *Compressor) Write(p []byte) (int, error) {
	c.plain.write(p)
	return c.zip.Write(p)
}

// Close ends the gzip file. It does not close the writer below.
func (c *Compressor) Close() error {
	c.plain.finish()
	return c.zip.Close()
}

// Blob describes the layer that was written. It may be called after Close.
func (c *Compressor) Blob() Blob {
	return Blob{
		Digest:    sum(c.stored.sum),
		Size:      c.stored.size,
		DiffID:    sum(c.plain.sum),
		MediaType: types.OCILayer,
	}
}

// A counter hashes and counts what passes to dst.
type counter struct {
	dst  io.Writer
	sum  hash.Hash
	size int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.dst.Write(p)
	c.sum.Write(p[:n])
	c.size += int64(n)
	return n, err
}

func sum(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}

// A hasher sums up what is written to it beside the goroutine that writes, since
// that takes about as long as compressing it.
type hasher struct {
	sum    hash.Hash
	blocks chan []byte
	done   chan struct{}
}

func newHasher() *hasher {
	h := &hasher{sum: sha256.New(), blocks: make(chan []byte, 64), done: make(chan struct{})}
	go func() {
		defer close(h.done)
		for b := range h.blocks {
			h.sum.Write(b)
		}
	}()
	return h
}

func (h *hasher) write(p []byte) { h.blocks <- bytes.Clone(p) }

// finish ends the sum. Nothing may be written after it.
func (h *hasher) finish() {
	close(h.blocks)
	<-h.done
}
