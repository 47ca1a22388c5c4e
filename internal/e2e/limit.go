package e2e

import (
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Limit is how long a test waits for anything. It is far more than what a test
// waits for takes on a busy machine, so that it ends only what hangs.
const Limit = 5 * time.Minute

// Context returns the test's context with the Limit.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}

// Receive returns what c sends, or the zero value once c is closed. It fails the
// test after the Limit. Call it in the goroutine of the test.
func Receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	timeout := time.NewTimer(Limit)
	defer timeout.Stop()
	select {
	case v := <-c:
		return v
	case <-timeout.C:
		t.Fatalf("nothing was received within %v", Limit)
		panic("unreachable")
	}
}

// Command returns xfn with arguments, which is killed after the Limit, or when the
// test ends. Its environment is that of this process.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(Context(t), Binary(t), args...)
	cmd.WaitDelay = time.Second // for what it has started and left
	return cmd
}

// Await returns what f returns, which may block: the Wait of a command or of an
// errgroup. It fails the test after the Limit. Call it in the goroutine of the
// test.
func Await[T any](t testing.TB, f func() T) T {
	t.Helper()
	returned := make(chan T, 1)
	go func() { returned <- f() }()
	return Receive(t, returned)
}

// Wait waits for a sync.WaitGroup. It fails the test after the Limit. Call it in
// the goroutine of the test.
func Wait(t testing.TB, group *sync.WaitGroup) {
	t.Helper()
	Await(t, func() struct{} { group.Wait(); return struct{}{} })
}

// Until waits until a condition of other processes holds, of which nothing else
// tells. It fails the test after the Limit.
func Until(t testing.TB, holds func() bool) {
	t.Helper()
	for ctx := Context(t); !holds(); {
		select {
		case <-ctx.Done():
			t.Fatalf("the condition does not hold after %v", Limit)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
