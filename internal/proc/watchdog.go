package proc

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// minInterval and maxInterval limit the time between two measurements of memory. In minInterval, a
	// program can allocate tens of MiB.
	minInterval, maxInterval = 10 * time.Millisecond, 80 * time.Millisecond
	// leastLimit is less than all useful limits, in bytes.
	leastLimit = 16 << 20
	// maxStacks limits the memory of all goroutine stacks together, in bytes. It is less
	// than maxStack, the size of one stack at which the Go runtime ends the process.
	maxStacks = 768 << 20
	maxStack  = 2_000_000_000
)

// A Watchdog measures the memory of the process, and records what the process is doing:
// its activities. The zero value is ready to use. It is safe for concurrent use.
type Watchdog struct {
	mu         sync.Mutex
	activities []string // in the order in which they began
}

// A MemoryError says that the process needs more memory than a limit.
type MemoryError struct {
	// Activities are the activities in progress, such as `running pipeline step "a"`.
	Activities []string
	// Stacks is true if deep recursion exceeded the limit of all stacks.
	Stacks bool
	// Limit is the limit that was exceeded, in bytes.
	Limit int64
}

// Error names the activities and the limit.
func (e *MemoryError) Error() string {
	what := "the process needs more than %s of memory"
	if e.Stacks {
		what = "recursion needs more than %s of stack"
	}
	size := fmt.Sprintf("%d MiB", e.Limit>>20)
	if e.Limit >= 1<<30 {
		size = fmt.Sprintf("%.3g GiB", float64(e.Limit)/(1<<30))
	}
	text := fmt.Sprintf(what, size)
	if len(e.Activities) > 0 {
		text = strings.Join(e.Activities, ", ") + ": " + text
	}
	return text
}

// Start measures the memory of the process until stop is called. When live values and
// stacks exceed the limit, it calls exceeded once, in a goroutine of its own. The
// function limit returns the limit in bytes. It is called when the process needs leastLimit, so
// that a small command does not need the time to compute the limit.
func (w *Watchdog) Start(limit func() int64, exceeded func(*MemoryError)) (stop func()) {
	stopped := make(chan struct{})
	go func() {
		interval := minInterval
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for before, most := int64(0), int64(0); ; {
			select {
			case <-stopped:
				return
			case <-ticks.C:
			}
			used := measure()
			if most == 0 && used.sum() > leastLimit {
				most = limit()
				prepareRuntime(most)
			}
			if e := used.check(most); most > 0 && e != nil {
				e.Activities = w.running()
				exceeded(e)
				return
			}
			// A server that waits for requests is measured less often.
			interval = min(2*interval, maxInterval)
			if used.sum() > before {
				interval = minInterval
			}
			before = used.sum()
			ticks.Reset(interval)
		}
	}()
	return sync.OnceFunc(func() { close(stopped) })
}

// prepareRuntime sets the soft limit of the garbage collector below limit, so that memory above
// limit is in use and not garbage. It also permits larger stacks, so that a large stack is
// measured before the Go runtime ends the process.
func prepareRuntime(limit int64) {
	if soft := limit / 8 * 7; soft < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(soft)
	}
	debug.SetMaxStack(maxStack)
}

// A usage is the memory that a process uses, in bytes. It does not count memory that Go has
// reserved but does not use.
type usage struct{ heap, stacks int64 }

func (u usage) sum() int64 { return u.heap + u.stacks }

func measure() usage {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return usage{heap: int64(samples[0].Value.Uint64()), stacks: int64(samples[1].Value.Uint64())}
}

// check returns an error if heap objects and stacks exceed limit, or if stacks exceed maxStacks.
func (u usage) check(limit int64) *MemoryError {
	switch {
	case u.sum() > limit:
		return &MemoryError{Limit: limit}
	case u.stacks > maxStacks:
		return &MemoryError{Limit: maxStacks, Stacks: true}
	default:
		return nil
	}
}

// running returns the activities in progress, the latest first, without duplicates.
func (w *Watchdog) running() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, activity := range slices.Backward(w.activities) {
		if !slices.Contains(all, activity) {
			all = append(all, activity)
		}
	}
	return all
}

func (w *Watchdog) enter(activity string) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.activities = append(w.activities, activity)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := slices.Index(w.activities, activity)
		w.activities = slices.Delete(w.activities, i, i+1)
	}
}

type watchdogKey struct{}

// WithWatchdog returns a context with which EnterActivity records activities in w.
func WithWatchdog(ctx context.Context, w *Watchdog) context.Context {
	return context.WithValue(ctx, watchdogKey{}, w)
}

// EnterActivity records that the caller begins an activity, such as `reading "xr.yaml"`, and
// returns a function that records its end. It does nothing in a context without a Watchdog.
func EnterActivity(ctx context.Context, activity string) (leave func()) {
	if w, ok := ctx.Value(watchdogKey{}).(*Watchdog); ok {
		return w.enter(activity)
	}
	return func() {}
}

// EnterStep calls EnterActivity for the pipeline step with this name.
func EnterStep(ctx context.Context, step string) (leave func()) {
	return EnterActivity(ctx, fmt.Sprintf("running pipeline step %q", step))
}
