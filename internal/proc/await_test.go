package proc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/xfn-dev/xfn/internal/proc"
)

func TestAwait(t *testing.T) {
	failed, why := errors.New("failed"), errors.New("the context is done")
	if n, err := proc.Await(t.Context(), func() (int, error) { return 1, failed }); n != 1 || !errors.Is(err, failed) {
		t.Errorf("got %d and error %v, want the result of the function", n, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	answering := func() (int, error) {
		<-ctx.Done()
		return 2, failed
	}
	if n, err := proc.Await(ctx, answering); n != 2 || !errors.Is(err, failed) {
		t.Errorf("a function that checks the context: got %d and error %v, want its result", n, err)
	}
	end := make(chan struct{})
	defer close(end)
	stuck := func() (int, error) {
		<-end
		return 3, nil
	}
	if n, err := proc.Await(ctx, stuck); n != 0 || !errors.Is(err, why) {
		t.Errorf("a function that does not return: got %d and error %v, want the cause of the context", n, err)
	}
}
