package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A Keeper keeps the functions that its runtimes have started, until they are
// dropped or it is closed. It is safe for concurrent use.
type Pool struct {
	now func() time.Time

	mu     sync.Mutex
	closed bool
	kept   map[string]*slot
	round  int
	// starts are those of this round, in their order, and unstarted the
	// functions that did not start in it.
	starts    []Start
	unstarted []string
	// ending counts functions that are being stopped, and failed is what stopping
	// them returned.
	ending sync.WaitGroup
	failed error
}

// A Start is a function that was started.
type Start struct {
	Function string
	// Compiled is how long compiling took, and Took all else.
	Compiled, Took time.Duration
}

// A slot is for one function.
type slot struct {
	fn    runtimes.Function
	grace time.Duration
	// free is full while nobody starts it.
	free chan struct{}
	// instance is nil if it does not run.
	instance *runtimes.Instance
	// round is the last one in which it was asked for.
	round   int
	dropped bool
}

// NewPool returns a Keeper by whose clock starts are measured.
func NewPool(now func() time.Time) *Pool {
	return &Pool{now: now, kept: map[string]*slot{}}
}

// Runtime returns a runtime that starts functions by r, and keeps them: to stop
// one of its instances does nothing. A function that runs already is not started
// again, unless it has ended by itself. The name tells r from other runtimes. A
// function may take grace to stop.
func (k *Pool) Runtime(name string, r runtimes.Runtime, grace time.Duration) runtimes.Runtime {
	return keeping{k, name, r, grace}
}

type keeping struct {
	*Pool
	name  string
	next  runtimes.Runtime
	grace time.Duration
}

var (
	_ runtimes.Preparer = keeping{}
	_ runtimes.Prober   = keeping{}
)

// Probe asks the runtime.
func (k keeping) Probe(ctx context.Context) error {
	if p, ok := k.next.(runtimes.Prober); ok {
		return p.Probe(ctx)
	}
	return nil
}

// Prepare fetches what functions need that do not run.
func (k keeping) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	p, ok := k.next.(runtimes.Preparer)
	if !ok {
		return nil
	}
	fns = slices.DeleteFunc(slices.Clone(fns), k.runs)
	if len(fns) == 0 {
		return nil
	}
	return p.Prepare(ctx, fns...)
}

func (k keeping) runs(fn runtimes.Function) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.kept[k.key(fn)]
	return s != nil && s.runs()
}

// runs reports whether there is an instance that has not ended.
func (s *slot) runs() bool {
	if s.instance == nil {
		return false
	}
	select {
	case <-s.instance.Done: // never, if nobody notices
		return false
	default:
		return true
	}
}

// key is the same for what would start the same.
func (k keeping) key(fn runtimes.Function) string {
	return fmt.Sprintf("%q", []any{k.name, fn.Name, fn.Package, fn.Annotations})
}

// Start returns an instance of the function that is kept, and starts it if there
// is none.
func (k keeping) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	s, err := k.enter(fn)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, context.Cause(ctx))
	}
	defer func() { s.free <- struct{}{} }()
	k.mu.Lock()
	instance, runs := s.instance, s.runs()
	k.mu.Unlock()
	if runs {
		return lent(instance), nil
	}
	return k.start(ctx, s)
}

// enter returns the slot of a function, which is asked for in this round.
func (k keeping) enter(fn runtimes.Function) (*slot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, fmt.Errorf("starting function %q: functions are kept no more", fn.Name)
	}
	key := k.key(fn)
	s := k.kept[key]
	if s == nil {
		s = &slot{fn: fn, grace: k.grace, free: make(chan struct{}, 1)}
		s.free <- struct{}{}
		k.kept[key] = s
	}
	s.round = k.round
	return s, nil
}

// start fills a slot that the caller has to itself.
func (k keeping) start(ctx context.Context, s *slot) (*runtimes.Instance, error) {
	began := k.now()
	instance, err := k.next.Start(ctx, s.fn)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.end(ctx, s)
	if err != nil {
		k.unstarted = append(k.unstarted, s.fn.Name)
		return nil, err
	}
	s.instance = instance
	if s.dropped {
		k.end(ctx, s)
		return nil, fmt.Errorf("starting function %q: it changed meanwhile", s.fn.Name)
	}
	k.starts = append(k.starts, Start{s.fn.Name, instance.Compiled, k.now().Sub(began) - instance.Compiled})
	return lent(instance), nil
}

// lent is an instance that its borrower may change, and not stop.
func lent(i *runtimes.Instance) *runtimes.Instance {
	mine := *i
	mine.Stop = func(context.Context) error { return nil }
	return &mine
}

// Begin begins a round of starts.
func (k *Pool) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.round++
	k.starts, k.unstarted = nil, nil
}

// Starts returns what was started since Begin.
func (k *Pool) Starts() []Start {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.starts)
}

// Unstarted returns the functions that failed to start since Begin, sorted.
func (k *Pool) Unstarted() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.Sorted(slices.Values(k.unstarted))
	return slices.Compact(all)
}

// Packages returns those of all functions that were asked for and not dropped,
// sorted: also of such that did not start.
func (k *Pool) Packages() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, s := range k.kept {
		all = append(all, s.fn.Package)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Drop stops the functions from a package, which start anew when they are asked
// for. It does not wait for their end, which Close does.
func (k *Pool) Drop(ctx context.Context, pkg string) {
	k.drop(ctx, func(s *slot) bool { return s.fn.Package == pkg })
}

// DropUnused stops the functions that were not asked for since Begin.
func (k *Pool) DropUnused(ctx context.Context) {
	k.drop(ctx, func(s *slot) bool { return s.round < k.round })
}

func (k *Pool) drop(ctx context.Context, which func(*slot) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, s := range k.kept {
		if which(s) {
			delete(k.kept, key)
			s.dropped = true
			k.end(ctx, s)
		}
	}
}

// end stops the instance of a slot, if it has one, while others go on.
func (k *Pool) end(ctx context.Context, s *slot) {
	instance := s.instance
	s.instance = nil
	if instance == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	k.ending.Go(func() {
		defer cancel()
		if err := instance.Stop(ctx); err != nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.failed = errors.Join(k.failed, fmt.Errorf("stopping function %q: %w", s.fn.Name, err))
		}
	})
}

// Close stops all functions, at once, waits for the end of those that were
// dropped, too, and returns what went wrong. Nothing may be starting.
func (k *Pool) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.drop(ctx, func(*slot) bool { return true })
	k.ending.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}
