package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	defaultTries = 3
	// maxWait bounds what a pause grows to, and maxRetryAfter what a registry
	// may ask for.
	maxWait       = 30 * time.Second
	maxRetryAfter = time.Minute
)

// A policy says how often something is tried, and when again.
type policy struct {
	tries int
	wait  time.Duration
	sleep func(context.Context, time.Duration) error
}

// do calls try until it succeeds, its error is final, or all tries are used up.
func (p policy) do(ctx context.Context, temporary func(error) bool, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if err == nil || n >= p.tries || ctx.Err() != nil || !temporary(err) {
			return err
		}
		if err := p.pause(ctx, n, retryAfterOf(err)); err != nil {
			return err
		}
	}
}

// pause waits after the nth try, longer each time, and never all clients for
// the same time. A registry that asks for more gets it.
func (p policy) pause(ctx context.Context, n int, atLeast time.Duration) error {
	wait := p.wait
	for ; n > 1 && wait < maxWait; n-- {
		wait *= 3
	}
	wait = min(wait, max(maxWait, p.wait))
	wait += time.Duration((rand.Float64() - 0.5) / 2 * float64(wait))
	return p.sleep(ctx, max(wait, min(atLeast, maxRetryAfter)))
}

// retryAfter is how long an answer asks to wait: RFC 9110, "Retry-After".
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

// A retryAfterError is the answer of a registry that asks to wait.
type retryAfterError struct {
	error
	wait time.Duration
}

func (e *retryAfterError) Unwrap() error { return e.error }

func retryAfterOf(err error) time.Duration {
	var e *retryAfterError
	if errors.As(err, &e) {
		return e.wait
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
