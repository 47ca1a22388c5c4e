package alpha

import (
	"context"
	"fmt"
)

// LimitContainers returns a ContainerRunner that runs at most n containers of r
// at once. The timeout of a call includes the time that it waits for its turn.
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
			return nil, fmt.Errorf("running container %q: waiting for one of %d other containers to end: %w", req.Image, n, context.Cause(ctx))
		}
	})
}
