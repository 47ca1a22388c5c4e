package proc

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// ahead limits, per worker, the results that wait for the result of an earlier item. It
// is large enough that a slow item does not stop the workers, and small enough to bound
// memory.
const ahead = 8

// ForEachOrdered calls work for each item, with at most limit calls at a time. It passes
// the results to the function each, one at a time, in the order of the items, from changing
// goroutines. If each fails or ctx ends, ForEachOrdered starts no more work, cancels and waits
// for the work in progress, and returns the error of each or the cause of ctx.
func ForEachOrdered[T, R any](ctx context.Context, limit int, items []T, work func(context.Context, int, T) R, each func(R) error) error {
	if len(items) == 1 && ctx.Err() == nil { // A goroutine would only be waited for.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return each(work(ctx, 0, items[0]))
	}
	return StreamOrdered(ctx, min(limit, max(len(items), 1)), slices.Values(items), work, each)
}

// StreamOrdered is like ForEachOrdered for an iterator with any number of items. It
// advances the iterator only as needed.
func StreamOrdered[T, R any](ctx context.Context, limit int, items iter.Seq[T], work func(context.Context, int, T) R, each func(R) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next, stop := iter.Pull(items)
	defer stop()
	var taking sync.Mutex // held while the iterator advances
	taken, room := 0, make(chan struct{}, limit*ahead)
	take := func() (n int, item T, ok bool) {
		taking.Lock()
		defer taking.Unlock()
		room <- struct{}{}
		item, ok = next()
		n, taken = taken, taken+1
		return n, item, ok
	}
	var failed error
	results := sequence[R]{waiting: map[int]R{}, pass: func(r R) {
		<-room
		if failed != nil {
			return
		}
		if failed = each(r); failed != nil {
			cancel()
		}
	}}
	// Workers keep their grown stacks from item to item. They advance the iterator and call each
	// themselves: a core would be idle until a goroutine that hands over items or results is awake.
	var g errgroup.Group
	for range limit {
		g.Go(func() error {
			for {
				// Let the garbage collector mark: on fewer than four cores, it has none for itself.
				runtime.Gosched()
				n, item, ok := take()
				if !ok {
					return nil
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				results.put(n, work(ctx, n, item))
			}
		})
	}
	err := g.Wait()
	return cmp.Or(failed, err)
}

// A sequence passes results on in the order of their numbers, one at a time.
type sequence[R any] struct {
	pass func(R)

	mu      sync.Mutex
	waiting map[int]R // results that wait for an earlier one, by number
	due     int       // the number of the next result to pass on
	passing bool      // a caller of put calls pass
}

// put passes on result n and those that waited for it. If another caller is passing on results, put
// leaves the result to that caller.
func (s *sequence[R]) put(n int, result R) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[n] = result
	if s.passing {
		return
	}
	s.passing = true
	for r, ok := s.waiting[s.due]; ok; r, ok = s.waiting[s.due] {
		delete(s.waiting, s.due)
		s.due++
		s.mu.Unlock()
		s.pass(r)
		s.mu.Lock()
	}
	s.passing = false
}

// All calls do for each item, with at most limit calls at a time, and returns the results. If calls
// fail, it returns the error of the first such item.
func All[T, R any](limit int, items []T, do func(T) (R, error)) ([]R, error) {
	results, errs := make([]R, len(items)), make([]error, len(items))
	Each(limit, len(items), func(i int) { results[i], errs[i] = do(items[i]) })
	return results, cmp.Or(errs...)
}

// Each calls do for the numbers below n, with at most limit calls at a time.
func Each(limit, n int, do func(int)) {
	var g errgroup.Group
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = g.Wait() // The functions return no error.
}

// Regexp returns a function that compiles a regular expression at its first call. If all were compiled
// when the program starts, each command would start later. expr must be valid.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// maxMemo limits the number of keys of a Memo.
const maxMemo = 1000

// A Memo computes one value for each key, and keeps the values of at most 1000 keys.
// Callers share the values, so they must not change them. The zero value is ready to use,
// and safe for concurrent use.
type Memo[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]func() (V, error)
}

// Do returns the result of compute for the key, which an earlier call may have computed.
// Concurrent callers with the same key share one call of compute. Do also keeps errors.
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

// Get is like Do, for a function that cannot fail.
func (m *Memo[K, V]) Get(key K, compute func() V) V {
	v, _ := m.Do(key, func() (V, error) { return compute(), nil })
	return v
}

// Sleep waits for d or until ctx is done. If ctx is done, it returns the cause of ctx.
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

// growStack grows the stack of a new goroutine at once to the size that a render needs. Otherwise
// the stack doubles several times, and Go copies it each time.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

// patience is how long Await waits for a function after its context is done.
const patience = 100 * time.Millisecond

// Await returns the result of f. If ctx is done and f does not return within 100 ms, Await
// returns the cause of ctx, and f continues in the background. It is for computations that
// do not check ctx, such as decoding YAML: their result and their effects must not matter
// after ctx is done.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		growStack()
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var none T
		return none, context.Cause(ctx)
	}
}
