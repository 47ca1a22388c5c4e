package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// uploadBackoff is for an upload that go-containerregistry starts again. It is
// short because that wait cannot be interrupted; the patience is in the
// requests that a fresh upload begins with.
var uploadBackoff = ggcr.Backoff{Duration: 50 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: defaultTries}

// retrier repeats requests that may be repeated, when the registry is busy or
// the connection is lost. Waiting ends with the request's context.
type retrier struct {
	inner http.RoundTripper
	policy
}

// RoundTrip implements http.RoundTripper.
func (r retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if !repeatable(req) {
		return r.inner.RoundTrip(req)
	}
	for try := 1; ; try++ {
		resp, err := r.inner.RoundTrip(req)
		if err != nil && !lost(err) || err == nil && !busy(resp.StatusCode) {
			return resp, err
		}
		if try >= r.tries {
			return resp, spend(err)
		}
		var asked time.Duration
		if err == nil {
			asked = retryAfter(resp.Header)
			discard(resp)
		}
		if err := r.pause(req.Context(), try, asked); err != nil {
			return nil, err
		}
		if req, err = again(req); err != nil {
			return nil, err
		}
	}
}

// repeatable says whether a request may be sent twice. Those which write to an
// upload session may not: that the first one failed does not say how much of
// it arrived, so the upload has to start again.
func repeatable(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost, http.MethodPut:
		if req.Body == nil || req.Body == http.NoBody {
			return req.Method == http.MethodPost
		}
		return req.GetBody != nil
	default:
		return false
	}
}

// restartUpload says whether an upload that ended in err may start again.
func restartUpload(err error) bool {
	var status *transport.Error
	if errors.As(err, &status) {
		return busy(status.StatusCode) && !repeatable(status.Request)
	}
	var s *spent
	return !errors.As(err, &s) && lost(err)
}

func busy(status int) bool {
	return slices.Contains([]int{
		http.StatusRequestTimeout,
		http.StatusTooManyRequests,
		http.StatusInternalServerError,
		http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	}, status)
}

// lost says whether err means that a connection broke or stalled. One that is
// refused is not lost: more often than not the address is wrong.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var broken textproto.ProtocolError
	if errors.As(err, &broken) {
		return true // in the middle of a header
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "read" || op.Op == "write") {
		return true
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// spent is an error that came back after all tries.
type spent struct{ error }

func (s *spent) Unwrap() error { return s.error }

func spend(err error) error {
	if err == nil {
		return nil
	}
	return &spent{err}
}

// discard reads the rest of a short answer, so that its connection can be used
// again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

func again(req *http.Request) (*http.Request, error) {
	next := req.Clone(req.Context())
	if req.GetBody == nil {
		return next, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	next.Body = body
	return next, nil
}
