package proc_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
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

func TestMemo(t *testing.T) {
	var m proc.Memo[int, int]
	var computed atomic.Int64
	square := func(key int) (int, error) {
		return m.Do(key, func() (int, error) {
			computed.Add(1)
			if key < 0 {
				return 0, errors.New("negative")
			}
			return key * key, nil
		})
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := square(3); got != 9 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	wg.Wait()
	e2e.Error(t, "an error of the function is returned", e2e.Err(square(-1)))
	e2e.Equal(t, "the computations of two keys", int64(2), computed.Load())
	for i := range 3000 {
		_, _ = square(i)
	}
	if n := computed.Load(); n < 3001 {
		t.Errorf("only %d keys were computed", n)
	}
	before := computed.Load()
	if _, _ = square(3); computed.Load() != before+1 {
		t.Error("the first key is still kept")
	}
}
