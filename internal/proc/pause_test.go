package proc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/proc"
)

func TestFor(t *testing.T) {
	if err := proc.Sleep(t.Context(), time.Nanosecond); err != nil {
		t.Errorf("got %v", err)
	}
	why := errors.New("the context is done")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := proc.Sleep(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("Sleep with a context that is done: got %v, want %v", err, why)
	}
}
