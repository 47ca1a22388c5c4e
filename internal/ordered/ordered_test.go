package ordered_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/xfn-dev/xfn/internal/ordered"
)

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestOrderAndBound lets work end in a random order, and wants the results in
// that of the items, and no more at a time than the limit.
func TestOrderAndBound(t *testing.T) {
	for _, limit := range []int{1, 3} {
		var running, most atomic.Int64
		var got []int
		err := ordered.Each(t.Context(), limit, numbers(200), func(_ context.Context, i, item int) int {
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

// TestEnds: an error of each ends all, and so does the context.
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
			err := ordered.Each(tc.ctx, 2, numbers(5000), func(context.Context, int, int) int { return int(worked.Add(1)) }, func(r int) error {
				taken++
				return tc.each(r)
			})
			if !errors.Is(err, tc.want) || worked.Load() == 5000 || tc.want == full && taken != 1 {
				t.Errorf("got %v after %d results of %d", err, taken, worked.Load())
			}
		})
	}
}
