package proc

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// ahead is how many results per worker may wait for an earlier one: enough that
// a slow item does not block others, few enough to bound memory.
const ahead = 8

// ForEachOrdered calls work for each item, at most limit at a time, and calls
// each with the results in the order of the items, one at a time. It returns
// the first error of each, or the cause of ctx. Then it starts no more work,
// and cancels and waits for work in progress.
func ForEachOrdered[T, R any](ctx context.Context, limit int, items []T, work func(context.Context, int, T) R, each func(R) error) error {
	return StreamOrdered(ctx, limit, slices.Values(items), work, each)
}

// StreamOrdered is like ForEachOrdered for an iterator, which it advances only
// as needed. The number of items is not limited.
func StreamOrdered[T, R any](ctx context.Context, limit int, items iter.Seq[T], work func(context.Context, int, T) R, each func(R) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting := make(chan chan R, limit*ahead)
	var g errgroup.Group
	g.SetLimit(limit + 1)
	g.Go(func() error {
		defer close(waiting)
		n := 0
		for item := range items {
			i := n
			n++
			result := make(chan R, 1)
			select {
			case waiting <- result:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			g.Go(func() error {
				result <- work(ctx, i, item)
				return nil
			})
		}
		return nil
	})
	var err error
	for result := range waiting {
		r := <-result
		if err == nil {
			if err = each(r); err != nil {
				cancel()
			}
		}
	}
	if waitErr := g.Wait(); err == nil {
		err = waitErr
	}
	return err
}

// maxMemo limits the values of a Memo.
const maxMemo = 1000

// A Memo computes values once for each key, and keeps the values of at most 1000
// keys. Callers share the values, so they must not change them. The zero value is
// ready to use, by several goroutines at once.
type Memo[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]func() (V, error)
}

// Do returns the result of compute for the key. Concurrent callers with the same
// key wait for one result, an error included.
func (m *Memo[K, V]) Do(key K, compute func() (V, error)) (V, error) {
	m.mu.Lock()
	once, ok := m.kept[key]
	if !ok {
		if m.kept == nil || len(m.kept) >= maxMemo {
			m.kept = map[K]func() (V, error){}
		}
		once = sync.OnceValues(compute)
		m.kept[key] = once
	}
	m.mu.Unlock()
	return once()
}

// Sleep waits for d or until ctx is done. It returns the cause of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
