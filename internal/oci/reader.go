package oci

import (
	"cmp"
	"context"
	"io"
	"sync"
)

// A ReadCloser reads from one value and closes another.
type ReadCloser struct {
	io.Reader
	io.Closer
}

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

// aheadBlock is the size in bytes of the blocks that Ahead reads, and aheadBlocks their number.
const (
	aheadBlock  = 256 << 10
	aheadBlocks = 2
)

// Ahead returns a reader of the content of r. A goroutine reads r in advance, so callers
// must not use r until they have called stop and it has returned.
func Ahead(r io.Reader) (content io.Reader, stop func()) {
	a := &ahead{filled: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks), stopped: make(chan struct{})}
	for range aheadBlocks {
		a.free <- make([]byte, aheadBlock)
	}
	go a.fill(r)
	return a, sync.OnceFunc(func() {
		close(a.stopped)
		for range a.filled { // fill closes the channel when it has ended.
		}
	})
}

// An ahead is the reader of Ahead. Blocks go from the channel free to filled, and back.
type ahead struct {
	filled, free chan []byte
	stopped      chan struct{}
	err          error  // the error of the source, once filled is closed
	block, rest  []byte // the current block, and its part that was not read yet
}

// fill fills blocks until the source fails or the reader is stopped.
func (a *ahead) fill(r io.Reader) {
	defer close(a.filled)
	for a.err == nil {
		select {
		case <-a.stopped:
			return
		case block := <-a.free:
			n := 0
			for n < len(block) && a.err == nil {
				var read int
				read, a.err = r.Read(block[n:])
				n += read
			}
			a.filled <- block[:n]
		}
	}
}

// next waits for a block if the current one was read.
func (a *ahead) next() error {
	for len(a.rest) == 0 {
		if a.block != nil {
			a.free <- a.block[:aheadBlock]
			a.block = nil
		}
		block, ok := <-a.filled
		if !ok {
			return cmp.Or(a.err, io.ErrClosedPipe)
		}
		a.block, a.rest = block, block
	}
	return nil
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	if err := a.next(); err != nil {
		return 0, err
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo, without copying the blocks.
func (a *ahead) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := a.next(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return written, err
		}
		n, err := w.Write(a.rest)
		written, a.rest = written+int64(n), a.rest[n:]
		if err != nil {
			return written, err
		}
	}
}

// Copy is like io.Copy, but uses another goroutine. This goroutine hashes src if src is the
// reader of Verify for a large blob, and otherwise reads src in advance. When Copy returns, src
// is no longer read. After ctx is done, Copy fails with the cause of ctx.
func Copy(ctx context.Context, dst io.Writer, src io.Reader) (int64, error) {
	if v, ok := src.(*verifier); ok {
		if sum, ok := v.sum.(*concurrentHash); ok {
			return v.copyTo(dst, Reader(ctx, v.ReadCloser), sum)
		}
	}
	ahead, stop := Ahead(Reader(ctx, src))
	defer stop()
	return io.Copy(dst, ahead)
}
