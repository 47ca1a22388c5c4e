package proc

import (
	"context"
	"sync"
	"time"
)

type timeoutKey struct{}

// A timeout is a context that WithTimeout returned.
type timeout struct {
	context.Context
	timer *time.Timer

	mu     sync.Mutex
	end    time.Time
	left   time.Duration // the time between the first Pause and the end
	pauses int
}

// WithTimeout is like context.WithTimeoutCause, but Pause stops the clock, and the error of the
// context is always context.Canceled.
func WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &timeout{Context: ctx, end: time.Now().Add(d), timer: time.AfterFunc(d, func() { cancel(cause) })}
	return t, func() {
		t.timer.Stop()
		cancel(nil)
	}
}

func (t *timeout) Value(key any) any {
	if key == (timeoutKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// Deadline returns the end of the context, which is unknown during a Pause.
func (t *timeout) Deadline() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end, t.pauses == 0
}

// Pause stops the clock of all timeouts of ctx that WithTimeout set, until resume is called.
func Pause(ctx context.Context) (resume func()) {
	t, ok := ctx.Value(timeoutKey{}).(*timeout)
	if !ok {
		return func() {}
	}
	resumeOuter := Pause(t.Context)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses++; t.pauses == 1 {
		t.timer.Stop()
		t.left = time.Until(t.end)
	}
	return func() {
		resumeOuter()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pauses--; t.pauses == 0 {
			t.end = time.Now().Add(t.left)
			t.timer.Reset(t.left)
		}
	}
}
