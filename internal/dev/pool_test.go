package dev_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A starter is a runtime that records the starts and stops of functions.
type starter struct {
	mu      sync.Mutex
	log     []string
	ended   map[string]chan struct{}
	n       int
	noGrace bool
	fail    error
	blocks  chan struct{}
	entered chan struct{}
}

func (s *starter) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *starter) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	if s.blocks != nil {
		s.entered <- struct{}{}
		select {
		case <-s.blocks:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	s.mu.Lock()
	fail := s.fail
	s.n++
	name := fmt.Sprintf("%s %d", fn.Name, s.n)
	done := make(chan struct{})
	if s.ended == nil {
		s.ended = map[string]chan struct{}{}
	}
	s.ended[name] = done
	s.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	s.note("start %s", name)
	grace := time.Minute
	if s.noGrace {
		grace = -time.Second
	}
	return &runtimes.Instance{
		Detail: name, Compiled: 2 * time.Second, Done: done, Grace: grace,
		Stop: func(ctx context.Context) error {
			if _, ok := ctx.Deadline(); !ok {
				return errors.New("the context of Stop has no deadline")
			}
			s.note("stop %s", name)
			return ctx.Err()
		},
	}, nil
}

func (s *starter) Prepare(_ context.Context, fns ...runtimes.Function) error {
	for _, fn := range fns {
		s.note("prepare %s", fn.Name)
	}
	return nil
}

func (s *starter) Probe(context.Context) error { return errors.New("forbidden") }

func (s *starter) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *starter) want(t *testing.T, reason string, want ...string) {
	t.Helper()
	e2e.Equal(t, reason, want, s.seen())
}

func clock() func() time.Time {
	var mu sync.Mutex
	at := time.Unix(0, 0)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(3 * time.Second)
		return at
	}
}

func pool(runtime string, s *starter) (*dev.Pool, runtimes.Runtime) {
	k := dev.NewPool(clock())
	return k, k.Runtime(runtime, s)
}

func begin(t *testing.T, r runtimes.Runtime, name, pkg string) *runtimes.Instance {
	t.Helper()
	return e2e.Must(r.Start(t.Context(), runtimes.Function{Name: name, Package: pkg}))(t)
}

func TestKeep(t *testing.T) {
	s := &starter{}
	k, r := pool("Process", s)
	k.Begin()
	first := begin(t, r, "a", "./a")
	e2e.NoError(t, first.Stop(t.Context()))
	first.Detail = "changed by the caller"
	e2e.Equal(t, "a change of the caller does not affect the running instance", "a 1", begin(t, r, "a", "./a").Detail)
	begin(t, r, "b", "./b")
	s.want(t, "a function keeps running when its session ends", "start a 1", "start b 2")
	e2e.Equal(t, "each started function is listed once, with the times of its compilation and its start", []dev.Start{{"a", 2 * time.Second, time.Second}, {"b", 2 * time.Second, time.Second}}, k.Starts())
	e2e.Equal(t, "the pool has the package of each started function", []string{"./a", "./b"}, k.Packages())

	k.Begin()
	close(s.ended["a 1"])
	begin(t, r, "a", "./a")
	e2e.Equal(t, "only the function that ended is started in the second round", 1, len(k.Starts()))
	k.DropUnused(t.Context())
	begin(t, r, "b", "./b")
	e2e.NoError(t, k.Close(t.Context()))
	got := s.seen()
	slices.Sort(got)
	want := []string{"start a 1", "start a 3", "start b 2", "start b 4", "stop a 1", "stop a 3", "stop b 2", "stop b 4"}
	e2e.Equal(t, "functions that ended or were dropped are started again", want, got)
	e2e.Error(t, "a closed pool starts functions", e2e.Err(r.Start(t.Context(), runtimes.Function{Name: "a"})))
}

func TestDrop(t *testing.T) {
	s := &starter{}
	k, r := pool("Process", s)
	begin(t, r, "a", "./a")
	begin(t, r, "b", "./b")
	k.Drop(t.Context(), "./a")
	begin(t, r, "a", "./a")
	begin(t, r, "b", "./b")
	e2e.NoError(t, k.Close(t.Context()))
	var starts []string
	for _, l := range s.seen() {
		if strings.HasPrefix(l, "start") {
			starts = append(starts, l)
		}
	}
	e2e.Equal(t, "only dropped functions are started again", []string{"start a 1", "start b 2", "start a 3"}, starts)
}

// TestKeys checks that functions that differ in any field are started separately.
func TestKeys(t *testing.T) {
	s := &starter{}
	k, r := pool("Process", s)
	for _, fn := range []runtimes.Function{
		{Name: "a", Package: "./a"},
		{Name: "a", Package: "./b"},
		{Name: "a", Package: "./a", Annotations: map[string]string{"k": "v"}},
	} {
		e2e.NoError(t, e2e.Err(r.Start(t.Context(), fn)))
	}
	begin(t, k.Runtime("Docker", s), "a", "./a")
	s.want(t, "functions that differ in any field are started separately", "start a 1", "start a 2", "start a 3", "start a 4")
	e2e.NoError(t, k.Close(t.Context()))
}

func TestFailedStart(t *testing.T) {
	s := &starter{fail: errors.New("it does not compile")}
	k, r := pool("Process", s)
	fn := runtimes.Function{Name: "a", Package: "./a"}
	e2e.ErrorIs(t, "a function that does not compile is an error", e2e.Err(r.Start(t.Context(), fn)), s.fail)
	e2e.Equal(t, "functions that fail to start are watched", []string{"./a"}, k.Packages())
	e2e.Equal(t, "a function that fails to start is not started", []string{"a"}, k.Unstarted())
	if k.Begin(); k.Unstarted() != nil {
		t.Errorf("a round without starts has starts %v", k.Unstarted())
	}
	s.fail = nil
	begin(t, r, "a", "./a")
	e2e.NoError(t, k.Close(t.Context()))
}

// TestConcurrentStarts checks that concurrent requests for a function share one
// start. The start continues when one of the requests is canceled.
func TestConcurrentStarts(t *testing.T) {
	s := &starter{blocks: make(chan struct{}), entered: make(chan struct{}, 2)}
	k, r := pool("Process", s)
	fn := runtimes.Function{Name: "a", Package: "./a"}
	started := make(chan error)
	go func() { _, err := r.Start(t.Context(), fn); started <- err }()
	<-s.entered
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Start(impatient, fn)
	e2e.ErrorIs(t, "a request that is canceled is an error", err, context.Canceled)
	go func() { _, err := r.Start(t.Context(), fn); started <- err }()
	close(s.blocks)
	for range 2 {
		e2e.NoError(t, e2e.Receive(t, started))
	}
	s.want(t, "concurrent requests share one start", "start a 1")
	e2e.NoError(t, k.Close(t.Context()))
}

// TestDropWhileStarting checks that a function is stopped if its source changes
// while it is starting.
func TestDropWhileStarting(t *testing.T) {
	s := &starter{blocks: make(chan struct{}), entered: make(chan struct{}, 1)}
	k, r := pool("Process", s)
	started := make(chan error)
	go func() {
		_, err := r.Start(t.Context(), runtimes.Function{Name: "a", Package: "./a"})
		started <- err
	}()
	e2e.Receive(t, s.entered)
	k.Drop(t.Context(), "./a")
	close(s.blocks)
	e2e.ErrorHas(t, "a function whose source changes while it starts is an error", e2e.Receive(t, started), "changed while it was starting")
	e2e.NoError(t, k.Close(t.Context()))
	s.want(t, "a function whose source changed during the start is stopped", "start a 1", "stop a 1")
}

func TestCloseTells(t *testing.T) {
	s := &starter{noGrace: true}
	k := dev.NewPool(clock())
	begin(t, k.Runtime("Process", s), "a", "./a")
	if err := k.Close(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `stopping function "a": `) {
		t.Errorf("got %v", err)
	}
}

// TestPrepareAndProbe checks that only functions that do not run are prepared,
// and that the runtime is probed.
func TestPrepareAndProbe(t *testing.T) {
	s := &starter{}
	k, r := pool("Docker", s)
	begin(t, r, "a", "./a")
	preparer, ok := r.(runtimes.Preparer)
	if !ok {
		t.Fatal("the runtime is not a Preparer")
	}
	e2e.NoError(t, preparer.Prepare(t.Context(), runtimes.Function{Name: "a", Package: "./a"}, runtimes.Function{Name: "b"}))
	s.want(t, "only functions that do not run are prepared", "start a 1", "prepare b")
	if p, ok := r.(runtimes.Prober); !ok || p.Probe(t.Context()) == nil {
		t.Error("the runtime was not probed")
	}
	plain := k.Runtime("Plain", startOnly{s})
	e2e.NoError(t, plain.(runtimes.Prober).Probe(t.Context()))
	e2e.NoError(t, plain.(runtimes.Preparer).Prepare(t.Context(), runtimes.Function{Name: "c"}))
	e2e.NoError(t, k.Close(t.Context()))
}

type startOnly struct{ s *starter }

func (o startOnly) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	return o.s.Start(ctx, fn)
}
