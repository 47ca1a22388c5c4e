package oci

import (
	"bufio"
	"context"
	"io"
)

type reader struct {
	ctx context.Context
	in  io.Reader
}

// Reader returns a reader of r that fails once ctx is done, with its cause.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}

// readAhead is the number of bytes that Ahead buffers on each side of its pipe.
const readAhead = 512 << 10

// Ahead returns a reader of r's content. A goroutine reads r in advance, so r must
// not be read elsewhere until stop returns.
func Ahead(r io.Reader) (ahead io.Reader, stop func()) {
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

// Copy is io.Copy that reads src in advance, so that reading and hashing run while
// dst is written. It returns after its last read of src.
func Copy(dst io.Writer, src io.Reader) (int64, error) {
	ahead, stop := Ahead(src)
	defer stop()
	return io.Copy(dst, ahead)
}
