package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
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
	// blockSize is the number of bytes of a layer that are compressed as one block. The
	// compressed bytes depend on blockSize, but not on the number of concurrent blocks.
	blockSize = 1 << 20
	// maxWorkers limits the number of blocks that are compressed concurrently. Each worker
	// needs about 4 MiB of memory. More workers are not faster, because hashing is sequential.
	maxWorkers = 6
)

// A Compressor compresses the tar of a layer with gzip at the fastest level, in
// one pass. The same tar gives the same bytes on any machine.
type Compressor struct {
	zip    *pgzip.Writer
	plain  hash.Hash
	stored counter
}

// NewCompressor returns a Compressor that writes the gzip file to dst. It must
// be closed, even after an error.
func NewCompressor(dst io.Writer) *Compressor {
	zip, _ := pgzip.NewWriterLevel(nil, pgzip.BestSpeed) // NewWriterLevel fails only for an invalid level.
	c := &Compressor{zip: zip}
	c.Reset(dst)
	return c
}

// Reset prepares a closed Compressor to write a new gzip file to dst. It reuses the memory.
// The Compressor must be closed again.
func (c *Compressor) Reset(dst io.Writer) {
	c.plain, c.stored = sha256.New(), counter{dst: dst, sum: sha256.New()}
	c.zip.Reset(&c.stored)
	_ = c.zip.SetConcurrency(blockSize, min(maxWorkers, runtime.GOMAXPROCS(0))) // SetConcurrency fails only for sizes that are too small.
	c.zip.ModTime = time.Unix(0, 0)                                             // Unix time 0 is written as "no time", but the zero Time is not.
}

// Write compresses p.
func (c *Compressor) Write(p []byte) (int, error) {
	c.plain.Write(p)
	return c.zip.Write(p)
}

// Close ends the gzip file. It does not close the writer that receives the file.
func (c *Compressor) Close() error { return c.zip.Close() }

// Blob describes the compressed layer. It may be called after Close.
func (c *Compressor) Blob() Blob {
	return Blob{Digest: sum(c.stored.sum), Size: c.stored.size, DiffID: sum(c.plain), MediaType: types.OCILayer}
}

// Gzipped returns a layer whose stored bytes are the tar, compressed as the crossplane CLI compresses it.
// So it has the digest of the layer of that CLI. Each reading compresses the tar again.
func Gzipped(ctx context.Context, l v1.Layer) (v1.Layer, error) {
	open := func() (io.ReadCloser, error) {
		tar, err := l.Uncompressed()
		if err != nil {
			return nil, err
		}
		out, in := io.Pipe()
		go func() {
			zip, err := gzip.NewWriterLevel(in, gzip.BestSpeed) // The bytes of other packages differ.
			if err == nil {
				_, err = io.Copy(zip, Reader(ctx, tar))
				err = errors.Join(err, zip.Close(), tar.Close())
			}
			in.CloseWithError(err)
		}()
		return out, nil
	}
	rc, err := open()
	if err != nil {
		return nil, err
	}
	b := Blob{MediaType: types.OCILayer}
	if b.Digest, b.Size, err = v1.SHA256(rc); err != nil {
		return nil, fmt.Errorf("compressing a layer: %w", err)
	}
	if b.DiffID, err = l.DiffID(); err != nil {
		return nil, err
	}
	return Stored(open, b)
}

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

// TarLayer returns a compressed layer, in memory, of the tar that write writes. The same tar
// gives the same layer.
func TarLayer(write func(*tar.Writer) error) (v1.Layer, error) {
	var stored bytes.Buffer
	zw := NewCompressor(&stored)
	tw := tar.NewWriter(zw)
	err := write(tw)
	if err == nil {
		err = tw.Close()
	}
	if err := errors.Join(err, zw.Close()); err != nil {
		return nil, err
	}
	return OwnLayer(bytes.NewReader(stored.Bytes()), zw.Blob())
}
