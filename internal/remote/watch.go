package remote

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// watched ends requests that the registry neither reads nor answers for too long. The
// timer stops while this process produces the request's body or handles the response's.
type watched struct {
	inner   http.RoundTripper
	timeout time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t watched) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.timeout, func() { cancel(idleTimeoutError{}) })
	start, stop := func() { timer.Reset(t.timeout) }, func() { timer.Stop() }
	var answered atomic.Bool
	req = req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{req.Body, ctx, stop, func() {
			if !answered.Load() {
				start()
			}
		}, func() {}}
	}
	resp, err := t.inner.RoundTrip(req)
	answered.Store(true)
	stop()
	if err != nil {
		err = causeOf(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &watchedBody{resp.Body, ctx, start, stop, func() { cancel(nil) }}
	return resp, nil
}

// causeOf returns the idleTimeoutError that ended ctx, or else err.
func causeOf(ctx context.Context, err error) error {
	if s, ok := context.Cause(ctx).(idleTimeoutError); ok {
		return s
	}
	return err
}

// An idleTimeoutError is a net.Error.
type idleTimeoutError struct{}

func (idleTimeoutError) Error() string   { return "nothing arrives" }
func (idleTimeoutError) Timeout() bool   { return true }
func (idleTimeoutError) Temporary() bool { return true }

// A watchedBody calls functions before and after each Read, and when it is closed.
type watchedBody struct {
	io.ReadCloser
	ctx                   context.Context
	before, after, closed func()
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.before()
	n, err := b.ReadCloser.Read(p)
	b.after()
	if err != nil && err != io.EOF {
		err = causeOf(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}
