package oci

import (
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
