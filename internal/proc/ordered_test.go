package proc_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc"
)

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestOrderAndBound checks that ForEachOrdered returns results in the order of the items
// although they are finished in a random order, and that it respects the limit.
func TestOrderAndBound(t *testing.T) {
	for _, limit := range []int{1, 3} {
		var running, most atomic.Int64
		var got []int
		err := proc.ForEachOrdered(t.Context(), limit, numbers(200), func(_ context.Context, i, item int) int {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			runtime.Gosched()
			running.Add(-1)
			return i * item
		}, func(r int) error { got = append(got, r); return nil })
		if err != nil || len(got) != 200 || !slices.IsSorted(got) || got[199] != 199*199 {
			t.Errorf("limit %d: got %v, %v", limit, got, err)
		}
		if most.Load() > int64(limit) {
			t.Errorf("limit %d: %d at a time", limit, most.Load())
		}
	}
}

// TestEnds checks that ForEachOrdered stops early if the function each returns an error,
// or if the context ends.
func TestEnds(t *testing.T) {
	full := errors.New("the disk is full")
	ctx, cancel := context.WithCancel(t.Context())
	cases := map[string]struct {
		ctx  context.Context
		each func(int) error
		want error
	}{
		"Error":  {t.Context(), func(int) error { return full }, full},
		"Cancel": {ctx, func(int) error { cancel(); return nil }, context.Canceled},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var worked atomic.Int64
			taken := 0
			err := proc.ForEachOrdered(tc.ctx, 2, numbers(5000), func(context.Context, int, int) int { return int(worked.Add(1)) }, func(r int) error {
				taken++
				return tc.each(r)
			})
			if !errors.Is(err, tc.want) || worked.Load() == 5000 || tc.want == full && taken != 1 {
				t.Errorf("got %v after %d results of %d", err, taken, worked.Load())
			}
		})
	}
}

// TestNoMoreStarts checks that items that wait for a worker do not start after the context
// ends, and that their absence is an error.
func TestNoMoreStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var started, taken []int
	err := proc.ForEachOrdered(ctx, 1, numbers(3), func(_ context.Context, i, _ int) int {
		started = append(started, i)
		cancel()
		return i
	}, func(r int) error {
		taken = append(taken, r)
		return nil
	})
	e2e.ErrorIs(t, "the end of the context is an error", err, context.Canceled)
	e2e.Equal(t, "only the item in progress was started", []int{0}, started)
	e2e.Equal(t, "the result of the item in progress is used", []int{0}, taken)
}

// TestStream checks that StreamOrdered reads only a bounded number of items ahead.
func TestStream(t *testing.T) {
	const limit, last = 2, 1000
	var taken atomic.Int64
	enough := errors.New("enough")
	endless := func(yield func(int) bool) {
		for yield(int(taken.Add(1) - 1)) {
		}
	}
	got := 0
	err := proc.StreamOrdered(t.Context(), limit, endless, func(_ context.Context, i, item int) int {
		e2e.Equal(t, "the number of an item", item, i)
		return item
	}, func(r int) error {
		e2e.Equal(t, "results have the order of the items", got, r)
		got++
		if ahead := int(taken.Load()) - got; ahead > limit*16 {
			t.Errorf("%d items were read ahead", ahead)
		}
		if got == last {
			return enough
		}
		return nil
	})
	e2e.ErrorIs(t, "the error of the consumer ends the stream", err, enough)
	e2e.Equal(t, "no result follows the error of the consumer", last, got)
}

// TestStreamWaits checks that neither an iterator that waits nor a slow item stops the others.
func TestStreamWaits(t *testing.T) {
	passed, worked := make(chan int, 1), make(chan int, 100)
	watch := func(yield func(int) bool) {
		for i := range 10 {
			if !yield(i) {
				return
			}
			if i == 0 {
				e2e.Equal(t, "the result that is passed on while the iterator waits", 0, <-passed)
			}
		}
	}
	var got []int
	err := proc.StreamOrdered(t.Context(), 2, watch, func(_ context.Context, _, item int) int {
		worked <- item
		for item == 1 && len(worked) < 10 { // Wait for all later items.
			runtime.Gosched()
		}
		return item
	}, func(r int) error {
		if got = append(got, r); r == 0 {
			passed <- r
		}
		return nil
	})
	e2e.NoError(t, err)
	e2e.Equal(t, "all results, in order", numbers(10), got)
}
