package alpha

import (
	"context"
	"fmt"
)

// LimitContainers returns a Runner by which r runs at most n containers at once. A call
// waits for its turn as long as its timeout allows, which goes on meanwhile.
func LimitContainers(r ContainerRunner, n int) ContainerRunner {
	turns := make(chan struct{}, n)
	return ContainerRunnerFunc(func(ctx context.Context, req ContainerRequest) ([]byte, error) {
		req = req.Complete()
		ctx, cancel := context.WithTimeoutCause(ctx, req.Timeout, fmt.Errorf("timed out after %s", req.Timeout))
		defer cancel()
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			return r.RunContainer(ctx, req)
		case <-ctx.Done():
			return nil, fmt.Errorf("running container %q: waiting for one of %d others to end: %w", req.Image, n, context.Cause(ctx))
		}
	})
}
