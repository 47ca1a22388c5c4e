package proc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc"
)

func TestFor(t *testing.T) {
	e2e.NoError(t, proc.Sleep(t.Context(), time.Nanosecond))
	why := errors.New("the context is done")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	e2e.ErrorIs(t, "Sleep with a context that is done", proc.Sleep(ctx, time.Hour), why)
}

// TestPause checks that overlapping pauses stop the clocks of a timeout and of the timeout
// around it.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, outer := errors.New("inner"), errors.New("outer")
		all, cancel := proc.WithTimeout(t.Context(), 10*time.Second, outer)
		defer cancel()
		one, cancel := proc.WithTimeout(all, 8*time.Second, inner)
		defer cancel()
		began := time.Now()
		sleep := func(seconds time.Duration) {
			if err := proc.Sleep(one, seconds*time.Second); err != nil {
				t.Errorf("after %s: got %v", time.Since(began), err)
			}
		}
		sleep(1)
		first := proc.Pause(one)
		sleep(60)
		second := proc.Pause(one)
		if end, ok := one.Deadline(); ok {
			t.Errorf("got deadline %s during a pause, want none", end)
		}
		first()
		sleep(60)
		second()
		if end, _ := one.Deadline(); end.Sub(began) != 128*time.Second {
			t.Errorf("got a deadline after %s, want 128s", end.Sub(began))
		}
		for ctx, want := range map[context.Context]error{one: inner, all: outer} {
			if <-ctx.Done(); context.Cause(ctx) != want {
				t.Errorf("got cause %v, want %v", context.Cause(ctx), want)
			}
		}
		e2e.Equal(t, "the time until the outer timeout", 130*time.Second, time.Since(began))
	})
}
