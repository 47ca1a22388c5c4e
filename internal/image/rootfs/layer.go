package rootfs

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// readAhead is the number of bytes of a layer that are decompressed before they
// are written.
const readAhead = 1 << 20

// layer applies a layer to the tree. left is the number of bytes of layers that
// may still be read.
func (t *tree) layer(ctx context.Context, l v1.Layer, diffID v1.Hash, left *int64) (err error) {
	plain, err := oci.Plain(ctx, l, left)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	ahead, stop := inBackground(plain)
	defer stop()
	sum := sha256.New()
	in := io.TeeReader(ahead, sum)
	t.made = made{}
	err = t.applyAll(ctx, tar.NewReader(in))
	if err == nil {
		_, err = io.Copy(io.Discard, in) // The digest includes the bytes after the last entry.
	}
	if errors.Is(err, oci.ErrTooLarge) {
		return fmt.Errorf("this layer and the layers below it have more than %d bytes", t.limits.Bytes)
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); diffID.Algorithm != "sha256" || diffID.Hex != got {
		return fmt.Errorf("its content does not match the image's config: got sha256:%s, want %s", got, diffID)
	}
	return nil
}

func (t *tree) applyAll(ctx context.Context, layer *tar.Reader) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := layer.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.apply(h, layer); err != nil {
			return err
		}
	}
}

// inBackground returns a reader of r's content. A goroutine reads r in advance,
// so r must not be read elsewhere until stop returns.
func inBackground(r io.Reader) (ahead io.Reader, stop func()) {
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w := bufio.NewWriterSize(in, readAhead)
		_, err := io.Copy(onlyWriter{w}, r)
		if flushed := w.Flush(); err == nil {
			err = flushed
		}
		in.CloseWithError(err)
	}()
	return bufio.NewReaderSize(out, readAhead), func() {
		_ = out.Close()
		<-ended
	}
}

// An onlyWriter hides the ReadFrom of a bufio.Writer, which would read the
// small blocks of a decompressor without buffering.
type onlyWriter struct{ io.Writer }

// A meter counts the stored bytes of layers that have been read.
type meter struct {
	done, total int64
	report      progress.Func
}

func newMeter(layers []v1.Layer, report progress.Func) (*meter, error) {
	m := &meter{report: report}
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return nil, fmt.Errorf("reading the size of a layer: %w", err)
		}
		m.total += size
	}
	return m, nil
}

func (m *meter) add(n int) {
	m.done += int64(n)
	m.report.Send(progress.Event{Kind: progress.Bytes, Text: "unpacking", Done: m.done, Total: m.total})
}

// A metered layer reports the bytes that are read from it to a meter.
type metered struct {
	v1.Layer
	meter *meter
}

func (l metered) Compressed() (io.ReadCloser, error) {
	rc, err := l.Layer.Compressed()
	return meteredReader{rc, l.meter}, err
}

type meteredReader struct {
	io.ReadCloser
	meter *meter
}

func (r meteredReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.meter.add(n)
	return n, err
}
