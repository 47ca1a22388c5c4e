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
	silence time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t watched) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{silence: t.silence}
	w.timer = time.AfterFunc(t.silence, func() { cancel(idleTimeoutError{}) })
	req = req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedRequest{req.Body, w}
	}
	resp, err := t.inner.RoundTrip(req)
	w.answered.Store(true)
	w.timer.Stop()
	if err != nil {
		err = cause(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &watchedAnswer{resp.Body, w, ctx, cancel}
	return resp, nil
}

// cause returns the idleTimeoutError that ended ctx, or else err.
func cause(ctx context.Context, err error) error {
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

type watch struct {
	timer    *time.Timer
	silence  time.Duration
	answered atomic.Bool
}

// A watchedRequest is the body of a request. The timer runs while it is not being read.
type watchedRequest struct {
	io.ReadCloser
	*watch
}

// Read implements io.Reader.
func (b *watchedRequest) Read(p []byte) (int, error) {
	b.timer.Stop()
	n, err := b.ReadCloser.Read(p)
	if !b.answered.Load() {
		b.timer.Reset(b.silence)
	}
	return n, err
}

// A watchedAnswer is the body of a response. The timer runs while it is being read.
type watchedAnswer struct {
	io.ReadCloser
	*watch
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Read implements io.Reader.
func (b *watchedAnswer) Read(p []byte) (int, error) {
	b.timer.Reset(b.silence)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF {
		err = cause(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedAnswer) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
