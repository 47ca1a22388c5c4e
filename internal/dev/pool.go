package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A Pool keeps functions running after their callers have stopped them. A function runs
// until it is dropped or the Pool is closed. A Pool is safe for concurrent use.
type Pool struct {
	now func() time.Time

	mu     sync.Mutex
	closed bool
	kept   map[string]*slot
	round  int
	// starts has the functions that were started since Begin was called, in
	// order. unstarted has the functions that failed to start since then.
	starts    []Start
	unstarted []string
	// ending waits for functions that are stopping. failed joins the errors of
	// stopping them.
	ending sync.WaitGroup
	failed error
}

// A Start describes how long the start of a function took.
type Start struct {
	Function string
	// Compiled is the time spent compiling. Took is the remaining time of the start.
	Compiled, Took time.Duration
}

// A slot has the state of one function in a Pool.
type slot struct {
	fn runtimes.Function
	// starting is held while the function is being started.
	starting *semaphore.Weighted
	// instance is the running function, or nil if it does not run.
	instance *runtimes.Instance
	// round is the last round in which the function was requested.
	round   int
	dropped bool
}

// NewPool returns a Pool that measures durations with the clock now.
func NewPool(now func() time.Time) *Pool {
	return &Pool{now: now, kept: map[string]*slot{}}
}

// Runtime returns a runtime that starts functions with r and keeps them in the Pool. Start
// returns the instance of a function that is already running. Stop of an instance has no
// effect. The name distinguishes r from other runtimes of the Pool.
func (p *Pool) Runtime(name string, r runtimes.Runtime) runtimes.Runtime {
	return pooled{p, name, r}
}

type pooled struct {
	*Pool
	name string
	next runtimes.Runtime
}

var (
	_ runtimes.Preparer = pooled{}
	_ runtimes.Prober   = pooled{}
)

// Probe probes the wrapped runtime.
func (k pooled) Probe(ctx context.Context) error { return runtimes.Probe(ctx, k.next) }

// Prepare prepares the functions that do not run with the wrapped runtime.
func (k pooled) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	return runtimes.Prepare(ctx, k.next, slices.DeleteFunc(slices.Clone(fns), k.runs)...)
}

func (k pooled) runs(fn runtimes.Function) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.kept[k.key(fn)]
	return s != nil && s.runs()
}

// runs reports whether the function has an instance that has not exited.
func (s *slot) runs() bool {
	if s.instance == nil {
		return false
	}
	select {
	case <-s.instance.Done: // Done is nil and blocks if the runtime does not observe the exit.
		return false
	default:
		return true
	}
}

// key returns the same key for functions with the same name, package, annotations
// and runtime.
func (k pooled) key(fn runtimes.Function) string {
	return fmt.Sprintf("%q", []any{k.name, fn.Name, fn.Package, fn.Annotations})
}

// Start returns the running instance of a function. If the function does not run,
// Start starts it.
func (k pooled) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	s, err := k.enter(fn)
	if err != nil {
		return nil, err
	}
	if s.starting.Acquire(ctx, 1) != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, context.Cause(ctx))
	}
	defer s.starting.Release(1)
	k.mu.Lock()
	instance, runs := s.instance, s.runs()
	k.mu.Unlock()
	if runs {
		return withoutStop(instance), nil
	}
	return k.start(ctx, s)
}

// enter returns the slot of a function, and records that the function was
// requested in the current round.
func (k pooled) enter(fn runtimes.Function) (*slot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, fmt.Errorf("starting function %q: the pool is closed", fn.Name)
	}
	key := k.key(fn)
	s := k.kept[key]
	if s == nil {
		s = &slot{fn: fn, starting: semaphore.NewWeighted(1)}
		k.kept[key] = s
	}
	s.round = k.round
	return s, nil
}

// start starts the function of a slot. The caller holds s.starting.
func (k pooled) start(ctx context.Context, s *slot) (*runtimes.Instance, error) {
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
		return nil, fmt.Errorf("starting function %q: its source changed while it was starting", s.fn.Name)
	}
	k.starts = append(k.starts, Start{s.fn.Name, instance.Compiled, k.now().Sub(began) - instance.Compiled})
	return withoutStop(instance), nil
}

func withoutStop(i *runtimes.Instance) *runtimes.Instance {
	mine := *i
	mine.Stop = func(context.Context) error { return nil }
	return &mine
}

// Begin begins a round. Starts, Unstarted and DropUnused refer to the time since
// the last call of Begin.
func (p *Pool) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round++
	p.starts, p.unstarted = nil, nil
}

// Starts returns the functions that were started since Begin was called, in order.
func (p *Pool) Starts() []Start {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.starts)
}

// Unstarted returns the names of the functions that failed to start since Begin
// was called, sorted.
func (p *Pool) Unstarted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return union(p.unstarted)
}

// Packages returns the packages of all functions in the Pool, sorted. This
// includes functions that failed to start.
func (p *Pool) Packages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, s := range p.kept {
		all = append(all, s.fn.Package)
	}
	return union(all)
}

// Drop removes the functions of a package from the Pool. It stops them in the
// background. A later request starts them again. The path of a package need not be
// spelled as in the function: "fn" is "./fn".
func (p *Pool) Drop(ctx context.Context, pkg string) {
	p.drop(ctx, func(s *slot) bool { return filepath.Clean(s.fn.Package) == filepath.Clean(pkg) })
}

// DropUnused drops the functions that were not requested since Begin was called.
func (p *Pool) DropUnused(ctx context.Context) {
	p.drop(ctx, func(s *slot) bool { return s.round < p.round })
}

func (p *Pool) drop(ctx context.Context, which func(*slot) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, s := range p.kept {
		if which(s) {
			delete(p.kept, key)
			s.dropped = true
			p.end(ctx, s)
		}
	}
}

// defaultGrace is the time in which a function must stop before its process is
// killed. The runtime of the function may set another time.
const defaultGrace = 500 * time.Millisecond

// end stops the instance of a slot in the background, if the slot has an instance.
func (p *Pool) end(ctx context.Context, s *slot) {
	instance := s.instance
	s.instance = nil
	if instance == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(instance.Grace, defaultGrace))
	p.ending.Go(func() {
		defer cancel()
		if err := instance.Stop(ctx); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.failed = errors.Join(p.failed, fmt.Errorf("stopping function %q: %w", s.fn.Name, err))
		}
	})
}

// Close stops all functions concurrently. It waits until these and all dropped functions
// have stopped, and returns the errors of stopping them. No function may be starting.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.drop(ctx, func(*slot) bool { return true })
	p.ending.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}
