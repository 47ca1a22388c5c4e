package proc_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc"
)

// memoryLimit is the memory limit in bytes. The tests themselves need less.
const memoryLimit = 64 << 20

// startWatchdog starts w with the limit, after a garbage collection that removes what other tests
// have left. It returns a channel with the errors that w reports.
func startWatchdog(t *testing.T, w *proc.Watchdog) <-chan *proc.MemoryError {
	t.Helper()
	exceeded := make(chan *proc.MemoryError, 1)
	runtime.GC()
	before := debug.SetMemoryLimit(-1)
	stop := w.Start(func() int64 { return memoryLimit }, func(e *proc.MemoryError) { exceeded <- e })
	t.Cleanup(func() {
		stop()
		stop()
		debug.SetMemoryLimit(before)
	})
	return exceeded
}

func TestWatchdogHeap(t *testing.T) {
	w := &proc.Watchdog{}
	ctx := proc.WithWatchdog(t.Context(), w)
	proc.EnterActivity(ctx, `reading "a"`)()
	leave := proc.EnterActivity(ctx, `reading "b"`)
	for _, step := range []string{"one", "two", "one"} {
		defer proc.EnterStep(ctx, step)()
	}
	leave()
	exceeded := startWatchdog(t, w)
	values := make([]byte, 2*memoryLimit)
	got := <-exceeded
	runtime.KeepAlive(values)
	want := &proc.MemoryError{Activities: []string{`running pipeline step "one"`, `running pipeline step "two"`}, Limit: memoryLimit}
	e2e.Equal(t, "the error has the running steps, each one once, and no activity that ended", want, got)
}

func TestWatchdogStack(t *testing.T) {
	exceeded := startWatchdog(t, &proc.Watchdog{})
	var got *proc.MemoryError
	recurse(1<<17, func() { got = <-exceeded })
	e2e.Equal(t, "a large stack exceeds the limit", &proc.MemoryError{Limit: memoryLimit}, got)
}

// recurse calls itself as often as levels says, with 1 KiB of stack for each call, and
// then calls f.
func recurse(levels int, f func()) byte {
	var frame [1 << 10]byte
	if levels == 0 {
		f()
		return 0
	}
	frame[levels%len(frame)] = 1
	return frame[levels%7] + recurse(levels-1, f)
}

// TestWatchdogGarbage checks that memory that was collected does not count: it allocates much more
// than the limit, but uses little of it at a time. It does not leave the collection to the
// Go runtime, which may start too late on a busy machine.
func TestWatchdogGarbage(t *testing.T) {
	exceeded := startWatchdog(t, &proc.Watchdog{})
	var values []byte
	for i := range 200 {
		values = make([]byte, 4<<20)
		if i%8 == 0 {
			runtime.GC()
		}
	}
	runtime.KeepAlive(values)
	select {
	case err := <-exceeded:
		t.Error(err)
	default:
	}
}

func TestNoWatchdog(t *testing.T) {
	proc.EnterStep(t.Context(), "one")()
}

func TestMemoryError(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    proc.MemoryError
		want   string
	}{
		"Memory":     {"a large limit is in GiB", proc.MemoryError{Limit: 3 << 29}, "the process needs more than 1.5 GiB of memory"},
		"Small":      {"a small limit is in MiB", proc.MemoryError{Limit: 100 << 20}, "the process needs more than 100 MiB of memory"},
		"Stacks":     {"recursion has its own error", proc.MemoryError{Limit: 768 << 20, Stacks: true}, "recursion needs more than 768 MiB of stack"},
		"Activities": {"all activities are named", proc.MemoryError{Limit: 2 << 30, Activities: []string{"reading a", "reading b"}}, "reading a, reading b: the process needs more than 2 GiB of memory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, tc.err.Error())
		})
	}
}
