package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

const (
	defaultTries = 3
	// maxWait limits the pauses, and maxRetryAfter those that a registry asks for.
	maxWait       = 30 * time.Second
	maxRetryAfter = time.Minute
	// step is the number of bytes after which the count of a blob's tries restarts.
	step = 1 << 20
)

// A policy has the number of tries and the pauses between them.
type policy struct {
	tries int
	wait  time.Duration
	sleep func(context.Context, time.Duration) error
}

// do calls try until it succeeds, its error is final, or all tries are used up.
func (p policy) do(ctx context.Context, temporary func(error) bool, try func() error) error {
	for a := (attempts{}); ; {
		err := try()
		if err == nil || ctx.Err() != nil || !temporary(err) {
			return err
		}
		if err := a.next(ctx, p, 0, err); err != nil {
			return err
		}
	}
}

// attempts counts the tries of a blob since it has advanced by step.
type attempts struct {
	tried int
	best  int64
}

// next waits for the next try after err, or returns err if all tries are used up. at is
// the offset of the blob.
func (a *attempts) next(ctx context.Context, p policy, at int64, err error) error {
	if at >= a.best+step {
		a.tried, a.best = 0, at
	}
	if a.tried++; a.tried >= p.tries {
		return err
	}
	wait := p.wait
	for n := a.tried; n > 1 && wait < maxWait; n-- {
		wait *= 3
	}
	wait = min(wait, max(maxWait, p.wait))
	wait += time.Duration((rand.Float64() - 0.5) / 2 * float64(wait))
	if e, ok := errors.AsType[*retryAfterError](err); ok {
		wait = max(wait, min(e.wait, maxRetryAfter))
	}
	return p.sleep(ctx, wait)
}

// A retryAfterError is an error response. wait is the time that the registry asks to
// wait, or 0.
type retryAfterError struct {
	error
	wait time.Duration
}

func (e *retryAfterError) Unwrap() error { return e.error }

// checkStatus returns an error for a response with another status.
func checkStatus(resp *http.Response, status ...int) error {
	if err := transport.CheckError(resp, status...); err != nil {
		return &retryAfterError{err, retryAfter(resp.Header)}
	}
	return nil
}

// retryAfter returns the time that a response asks to wait: RFC 9110, "Retry-After".
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if sec, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(sec) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func isBusy(status int) bool {
	return slices.Contains([]int{
		http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}, status)
}

// isUnsteady reports whether to retry with a registry that may never have responded.
func isUnsteady(err error) bool {
	status, ok := errors.AsType[*transport.Error](err)
	return ok && isBusy(status.StatusCode) || isLost(err)
}

// isTemporary reports whether to retry with a registry that has responded before: if it
// refuses connections now, it is being restarted.
func isTemporary(err error) bool {
	if errors.Is(err, context.Canceled) || errors.As(err, new(*targetError)) || errors.As(err, new(*tls.CertificateVerificationError)) {
		return false
	}
	if status, ok := errors.AsType[*transport.Error](err); ok {
		return isBusy(status.StatusCode)
	}
	return errors.As(err, new(*url.Error)) || isLost(err)
}

// isLost reports whether a connection broke or stalled. A refused connection is not
// lost: the address is probably wrong.
func isLost(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	op, isOp := errors.AsType[*net.OpError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, new(textproto.ProtocolError)) || // in the middle of a header
		isOp && (op.Op == "read" || op.Op == "write") ||
		isNet && timeout.Timeout()
}
