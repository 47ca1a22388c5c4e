package oci

import (
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

// maxWindow is the memory in bytes that decompressing zstd may take; RFC 8878
// asks decoders to support 8 MiB.
const maxWindow = 64 << 20

// MaxUnpacked limits the bytes that the layers of an image unpack to.
const MaxUnpacked = 64 << 30

// ErrTooLarge is the error of a layer that unpacks to more than it may.
var ErrTooLarge = errors.New("it unpacks to more bytes than may be read")

// Plain returns the tar of a stranger's layer, decompressed if its first bytes
// say so: media types are often wrong. A reader of it fails with the cause of
// ctx once that is done, and with ErrTooLarge once left bytes have been read.
// It counts left down, so that layers may share a bound.
func Plain(ctx context.Context, l v1.Layer, left *int64) (*Tar, error) {
	stored, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	tar, err := Decompress(stored)
	if err != nil {
		return nil, errors.Join(err, stored.Close())
	}
	return &Tar{Reader(ctx, tar), left, tar, stored}, nil
}

// Decompress returns what is in r, which its first bytes tell: gzip, zstd, or r
// itself. Closing it does not close r.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case IsGzip(magic):
		return gzip.NewReader(br)
	case IsZstd(magic):
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return zr.IOReadCloser(), nil
	default:
		return io.NopCloser(br), nil
	}
}

// IsGzip tells whether a file that begins so is compressed with gzip (RFC 1952).
func IsGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }

// IsZstd tells whether a file that begins so is compressed with zstd (RFC 8878).
func IsZstd(head []byte) bool { return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

// A Tar is a layer that is being read.
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

// Finish reads what is left of the layer as it is stored, without unpacking it:
// only at its end can it be seen that the layer has the digest that it should
// have. Nothing can be read after that.
func (p *Tar) Finish() error {
	_, err := io.Copy(io.Discard, p.stored)
	return err
}

// Close frees what reading took.
func (p *Tar) Close() error { return errors.Join(p.tar.Close(), p.stored.Close()) }

// CheckDiffID makes sure that a layer unpacks to the tar that its config says:
// container engines refuse one that does not. It reads the layer as Plain does.
func CheckDiffID(ctx context.Context, l v1.Layer, left *int64) (err error) {
	want, err := l.DiffID()
	if err != nil {
		return fmt.Errorf("finding the digest of a layer's tar: %w", err)
	}
	in, err := Plain(ctx, l, left)
	if err != nil {
		return fmt.Errorf("its layer %s: %w", want, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	got, _, err := v1.SHA256(in)
	if err != nil {
		return fmt.Errorf("its layer %s: %w", want, err)
	}
	if got != want {
		return fmt.Errorf("its layer %s is %s in its config", got, want)
	}
	return nil
}
