package oci

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow limits the memory in bytes for decompressing zstd; RFC 8878 asks
// decoders to support 8 MiB.
const maxWindow = 64 << 20

// MaxUnpacked limits the uncompressed bytes of all layers of an image.
const MaxUnpacked = 64 << 30

// ErrTooLarge is the error of a layer that unpacks to more bytes than allowed.
var ErrTooLarge = errors.New("the layer unpacks to more bytes than are allowed")

// Plain returns the uncompressed tar of an untrusted layer. It detects the compression from
// the first bytes, because media types are often wrong. After ctx is done, reading fails
// with the cause of ctx. After *left bytes it fails with ErrTooLarge. Reading decrements
// *left, so that several layers can share one limit.
func Plain(ctx context.Context, l v1.Layer, left *int64) (*Tar, error) {
	stored, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	plain, err := Decompress(stored)
	if err != nil {
		return nil, errors.Join(err, stored.Close())
	}
	return &Tar{Reader(ctx, plain), left, plain, stored}, nil
}

// ReadLayers calls do for each entry of the layers of an untrusted image, the lowest layer first,
// until do returns an error. do may read the content of the entry. Layers that unpack to more
// than MaxUnpacked bytes are an error.
func ReadLayers(ctx context.Context, img v1.Image, do func(h *tar.Header, content io.Reader) error) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	left := int64(MaxUnpacked)
	for _, l := range layers {
		in, err := Plain(ctx, l, &left)
		if err != nil {
			return err
		}
		if err := errors.Join(ReadTar(in, do), in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// ReadTar calls do for each entry of a tar, in order, until do returns an error. do may read
// the content of the entry.
func ReadTar(in io.Reader, do func(h *tar.Header, content io.Reader) error) error {
	for tr := tar.NewReader(in); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(h, tr)
		}
		if err != nil {
			return err
		}
	}
}

// Decompress returns the decompressed content of r if it begins like a file of gzip or
// zstd, and otherwise the content of r unchanged. Closing the result does not close r.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch Compression(magic) {
	case Gzip:
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		// Close of zr has no effect, and would return the error of Read again.
		return io.NopCloser(zr), nil
	case Zstd:
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return zr.IOReadCloser(), nil
	default:
		return io.NopCloser(br), nil
	}
}

// The compressions that Compression recognizes.
const (
	Gzip = "gzip" // RFC 1952
	Zstd = "zstd" // RFC 8878
)

// Compression returns the compression of a file that begins with head, or "" if it is
// neither gzip nor zstd.
func Compression(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	default:
		return ""
	}
}

// A Tar is the uncompressed content of a layer.
type Tar struct {
	in     io.Reader
	left   *int64
	tar    io.Closer
	stored io.ReadCloser
}

// Read reads the tar.
func (p *Tar) Read(b []byte) (int, error) {
	if *p.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := p.in.Read(b[:min(int64(len(b)), *p.left)])
	*p.left -= int64(n)
	return n, err
}

// Finish reads the stored layer to its end, because only that verifies the digest. Read must
// not be called afterwards.
func (p *Tar) Finish() error {
	_, err := io.Copy(io.Discard, p.stored)
	return err
}

// Close closes the layer.
func (p *Tar) Close() error { return errors.Join(p.tar.Close(), p.stored.Close()) }

// CheckDiffID returns an error if the digest of the layer's tar is not the layer's diff ID.
// Container engines verify this too. Like Plain, CheckDiffID reads at most *left bytes and
// decrements *left.
func CheckDiffID(ctx context.Context, l v1.Layer, left *int64) (err error) {
	want, err := l.DiffID()
	if err != nil {
		return fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	in, err := Plain(ctx, l, left)
	if err != nil {
		return fmt.Errorf("layer %s: %w", want, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	got, _, err := v1.SHA256(in)
	if err != nil {
		return fmt.Errorf("layer %s: %w", want, err)
	}
	if got != want {
		return fmt.Errorf("the diff ID of a layer is %s, but the config says %s", got, want)
	}
	return nil
}
