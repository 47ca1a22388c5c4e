package e2e

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Limit is the timeout of each wait in a test. It is long enough for a busy
// machine, so only operations that hang exceed it.
const Limit = 5 * time.Minute

// Context returns the context of the test with the timeout Limit.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}

// Receive returns the next value of c, or the zero value if c is closed. It fails
// the test after the Limit. Call it in the goroutine of the test.
func Receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	timeout := time.NewTimer(Limit)
	defer timeout.Stop()
	select {
	case v := <-c:
		return v
	case <-timeout.C:
		t.Fatalf("no value was received within %v", Limit)
		panic("unreachable")
	}
}

// Await returns the result of f, which may block, such as the Wait of a command.
// It fails the test after the Limit. Call it in the goroutine of the test.
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

// Until polls a condition, such as the state of another process, until it is true.
// It fails the test after the Limit.
func Until(t testing.TB, condition func() bool) {
	t.Helper()
	for ctx := Context(t); !condition(); {
		select {
		case <-ctx.Done():
			t.Fatalf("the condition is still false after %v", Limit)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
