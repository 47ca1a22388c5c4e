package alpha_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// A gate is a ContainerRunner whose containers run until the test ends them.
type gate struct{ running, end chan struct{} }

func (g gate) RunContainer(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
	g.running <- struct{}{}
	select {
	case <-g.end:
		return []byte(req.Image), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func TestLimit(t *testing.T) {
	g := gate{make(chan struct{}, 10), make(chan struct{})}
	limited := alpha.LimitContainers(g, 2)
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			if out, err := limited.RunContainer(t.Context(), alpha.ContainerRequest{Image: "a", Timeout: time.Hour}); string(out) != "a" || err != nil {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
	for range 2 {
		e2e.Receive(t, g.running)
	}
	if _, err := limited.RunContainer(t.Context(), alpha.ContainerRequest{Image: "b", Timeout: time.Millisecond}); err == nil ||
		err.Error() != `running container "b": waiting for one of 2 other containers to end: timed out after 1ms` {
		t.Errorf("the timeout includes waiting: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "a call with a cancelled context does not wait", e2e.Err(limited.RunContainer(ctx, alpha.ContainerRequest{Image: "b"})), context.Canceled)
	select {
	case <-g.running:
		t.Error("a third container runs after another has ended")
	default:
	}
	for range 5 {
		g.end <- struct{}{}
	}
	e2e.Wait(t, &calls)
}

// TestLimitTimeout checks that LimitContainers ends a call after the timeout of
// its request.
func TestLimitTimeout(t *testing.T) {
	g := gate{make(chan struct{}, 1), nil}
	_, err := alpha.LimitContainers(g, 1).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a", Timeout: time.Millisecond})
	if err == nil || err.Error() != "timed out after 1ms" && err.Error() != `running container "a": waiting for one of 1 other containers to end: timed out after 1ms` {
		t.Errorf("got %v", err)
	}
}
