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

// Reader returns a reader of r. After ctx is done, reading fails with the cause of ctx.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}

// readAhead is the size in bytes of each of the two buffers that Ahead uses, before and
// after its pipe.
const readAhead = 512 << 10

// Ahead returns a reader of the content of r. A goroutine reads r in advance, so callers
// must not use r until they have called stop and it has returned.
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

// Copy is io.Copy, except that a goroutine reads src in advance: reading and hashing src
// continues while dst is written. When Copy returns, src is no longer read.
func Copy(dst io.Writer, src io.Reader) (int64, error) {
	ahead, stop := Ahead(src)
	defer stop()
	return io.Copy(dst, ahead)
}
