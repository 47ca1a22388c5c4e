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
	// maxWait limits the pauses between tries. maxRetryAfter limits the pauses that a registry
	// asks for in the header Retry-After.
	maxWait       = 30 * time.Second
	maxRetryAfter = time.Minute
	// reportedWait is the shortest pause that is reported.
	reportedWait = 2 * time.Second
	// step is the number of bytes by which a transfer must advance to restart the count of its
	// tries.
	step = 1 << 20
)

// A policy says how often to try and how long to wait between tries.
type policy struct {
	tries int
	wait  time.Duration
	sleep func(context.Context, time.Duration) error
	// report handles the error before a pause of at least reportedWait, and the number of the
	// next try.
	report func(err error, wait time.Duration, try int)
}

// do calls try until it succeeds, until temporary returns false for its error, or until all
// tries are used up.
func (p policy) do(ctx context.Context, temporary func(error) bool, try func() error) error {
	for a := (attempts{}); ; {
		err := try()
		if err == nil || !temporary(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := a.next(ctx, p, 0, err); err != nil {
			return err
		}
	}
}

// attempts counts the tries to transfer a blob since the transfer last advanced by step
// bytes.
type attempts struct {
	tried int
	best  int64
}

// next waits before the next try. It returns err if all tries are used up, or if the
// deadline of ctx is before the end of the pause. err is the error of the last try, and at
// the offset that the transfer has reached.
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
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil && wait >= time.Until(deadline) {
		return err
	}
	if wait >= reportedWait {
		p.report(err, wait, a.tried+1)
	}
	return p.sleep(ctx, wait)
}

// A retryAfterError is the error of a response with a status that was not expected. wait is
// how long the registry asks to wait before the next try, or 0.
type retryAfterError struct {
	error
	wait time.Duration
}

func (e *retryAfterError) Unwrap() error { return e.error }

// checkStatus returns an error if status does not contain the response's status code.
func checkStatus(resp *http.Response, status ...int) error {
	if err := transport.CheckError(resp, status...); err != nil {
		return &retryAfterError{err, retryAfter(resp.Header)}
	}
	return nil
}

// retryAfter returns how long a response asks to wait (RFC 9110, "Retry-After"), or 0.
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

// isUnsteady reports whether to retry the login to a registry after err. It returns false
// for a refused connection: the registry may never have responded, so its address is
// probably wrong.
func isUnsteady(err error) bool {
	if isForbidden(err) {
		return false
	}
	status, ok := errors.AsType[*transport.Error](err)
	return ok && isBusy(status.StatusCode) || isLost(err)
}

// isTemporary reports whether to retry a request after err if the registry has responded to
// an earlier request. It returns true for a refused connection: the registry may be
// restarting.
func isTemporary(err error) bool {
	if errors.Is(err, context.Canceled) || isForbidden(err) {
		return false
	}
	if status, ok := errors.AsType[*transport.Error](err); ok {
		return isBusy(status.StatusCode)
	}
	return errors.As(err, new(*url.Error)) || isLost(err)
}

// isForbidden reports whether err says that the address or the certificate of a server is not
// accepted, which no further try changes.
func isForbidden(err error) bool {
	return errors.As(err, new(*targetError)) || errors.As(err, new(*tls.CertificateVerificationError))
}

// isLost reports whether err says that a connection broke or stalled. It returns false for
// a refused connection.
func isLost(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	op, isOp := errors.AsType[*net.OpError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, new(textproto.ProtocolError)) || // the connection broke in the middle of a header
		isOp && (op.Op == "read" || op.Op == "write") ||
		isNet && timeout.Timeout()
}
