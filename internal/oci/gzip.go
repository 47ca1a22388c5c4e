package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/pgzip"
)

const (
	// blockSize is how much of a layer is compressed at a time. It decides the
	// bytes of the result; how many blocks are compressed at once does not.
	blockSize = 1 << 20
	// maxWorkers bounds the blocks that are compressed at once, and so the
	// memory that it takes: about 4 MiB each. More do not help: hashing, which
	// cannot be split, keeps up with about as many.
	maxWorkers = 6
)

// A Compressor turns the tar of a layer that is written to it into a gzip file
// at the fastest level, in one pass. The same tar gives the same bytes on any
// machine.
type Compressor struct {
	plain  *hasher
	zip    *pgzip.Writer
	stored counter
	block  []byte // what was written and is not hashed and compressed yet
}

// NewCompressor returns a Compressor that writes the gzip file to dst. It must
// be closed, even after an error.
func NewCompressor(dst io.Writer) (*Compressor, error) {
	zip, err := pgzip.NewWriterLevel(nil, pgzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("starting to compress: %w", err)
	}
	c := &Compressor{zip: zip, plain: newHasher()}
	return c, c.start(dst)
}

// Reset makes a Compressor that was closed one that writes to dst, without new
// memory. It must be closed again.
func (c *Compressor) Reset(dst io.Writer) error {
	c.plain.start()
	return c.start(dst)
}

func (c *Compressor) start(dst io.Writer) error {
	c.stored = counter{sum: sha256.New(), dst: dst}
	c.zip.Reset(&c.stored)
	if err := c.zip.SetConcurrency(blockSize, min(maxWorkers, runtime.GOMAXPROCS(0))+1); err != nil {
		return fmt.Errorf("starting to compress: %w", err)
	}
	c.zip.ModTime = time.Unix(0, 0) // Writes 0, "no time"; the zero Time would not.
	return nil
}

// Write compresses p.
func (c *Compressor) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		free := c.free()
		k := copy(free, p)
		if err := c.fill(k); err != nil {
			return n, err
		}
		n, p = n+k, p[k:]
	}
	return n, nil
}

// ReadFrom compresses what r holds: for io.Copy, with a copy less.
func (c *Compressor) ReadFrom(r io.Reader) (n int64, err error) {
	for {
		k, err := r.Read(c.free())
		n += int64(k)
		if err := errors.Join(c.fill(k), notEOF(err)); err != nil {
			return n, err
		}
		if err != nil {
			return n, nil
		}
	}
}

func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// free is where the next bytes have room.
func (c *Compressor) free() []byte {
	if c.block == nil {
		c.block = c.plain.next()
	}
	return c.block[len(c.block):cap(c.block)]
}

// fill takes n more bytes of the block, and passes it on if it is full.
func (c *Compressor) fill(n int) error {
	c.block = c.block[:len(c.block)+n]
	if len(c.block) < cap(c.block) {
		return nil
	}
	return c.flush()
}

func (c *Compressor) flush() error {
	block := c.block
	c.block = nil
	c.plain.write(block)
	_, err := c.zip.Write(block)
	return err
}

// Close ends the gzip file. It does not close the writer below.
func (c *Compressor) Close() error {
	var err error
	if c.block != nil { // it goes back, even if nothing is in it
		err = c.flush()
	}
	c.plain.finish()
	if ended := c.zip.Close(); err == nil { // else it says the same again
		err = ended
	}
	return err
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
// that takes about as long as compressing it. It has the memory of a few blocks,
// which go around.
type hasher struct {
	sum          hash.Hash
	blocks, idle chan []byte
	done         chan struct{}
}

const (
	hashBlocks    = 8
	hashBlockSize = 256 << 10
)

func newHasher() *hasher {
	h := &hasher{idle: make(chan []byte, hashBlocks)}
	for range hashBlocks {
		h.idle <- nil
	}
	h.start()
	return h
}

// start begins a sum, once the one before is finished.
func (h *hasher) start() {
	h.sum, h.blocks, h.done = sha256.New(), make(chan []byte, hashBlocks), make(chan struct{})
	go func() {
		defer close(h.done)
		for b := range h.blocks {
			h.sum.Write(b)
			h.idle <- b[:0]
		}
	}()
}

// next returns an empty block, to be given to write.
func (h *hasher) next() []byte {
	if b := <-h.idle; b != nil {
		return b
	}
	return make([]byte, 0, hashBlockSize)
}

// write sums up a block of next, which may be read until next is called.
func (h *hasher) write(block []byte) { h.blocks <- block }

// finish ends the sum. Nothing may be written after it.
func (h *hasher) finish() {
	close(h.blocks)
	<-h.done
}
