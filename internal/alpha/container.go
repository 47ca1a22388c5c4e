package alpha

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Defaults of a ContainerRequest.
const (
	// DefaultTimeout is how long a container may run by default.
	DefaultTimeout = 25 * time.Second
	// DefaultEndpoint is the gRPC target that Crossplane calls by default.
	DefaultEndpoint = "unix-abstract:crossplane/fn/default.sock"
)

// MaxMessage is the largest message between Crossplane and a runner in bytes,
// in both directions. It is gRPC's default, which neither of them raises. A
// FunctionIO has to fit.
const MaxMessage = 4 << 20

// A ContainerRunner runs functions: a sandbox, a gRPC client, or a fake. It
// must be safe for concurrent use.
type ContainerRunner interface {
	// RunContainer runs a container once, and returns its standard output,
	// which may be empty or invalid.
	//
	// It returns an error if the container does not exit with 0. It leaves
	// nothing of the container behind, also if ctx is done or the timeout
	// ends. The timeout includes the time to pull the image.
	RunContainer(ctx context.Context, req ContainerRequest) (output []byte, err error)
}

// ContainerRunnerFunc is a function that implements ContainerRunner.
type ContainerRunnerFunc func(ctx context.Context, req ContainerRequest) ([]byte, error)

// RunContainer calls f.
func (f ContainerRunnerFunc) RunContainer(ctx context.Context, req ContainerRequest) ([]byte, error) {
	return f(ctx, req)
}

// A ContainerRequest describes a container to run. Only Image is required.
type ContainerRequest struct {
	// Image is a reference, such as "registry.example.org/fn:v1".
	Image string
	// Input is the standard input: a FunctionIO in YAML.
	Input []byte
	// PullPolicy is PullIfNotPresent by default.
	PullPolicy PullPolicy
	// Auth is for the image's registry. Nil means the runner's own credentials.
	Auth *Auth
	// CPU and Memory are limits as Kubernetes quantities, such as "100m"
	// and "128Mi". Empty means no limit.
	CPU, Memory string
	// Network is NetworkIsolated by default.
	Network NetworkPolicy
	// Timeout is DefaultTimeout by default.
	Timeout time.Duration
	// Endpoint is the gRPC target of the runner that the Composition names,
	// or empty for any runner.
	Endpoint string
}

// Complete returns the request with defaults set.
func (r ContainerRequest) Complete() ContainerRequest {
	r.PullPolicy = cmp.Or(r.PullPolicy, PullIfNotPresent)
	r.Network = cmp.Or(r.Network, NetworkIsolated)
	r.Timeout = cmp.Or(r.Timeout, DefaultTimeout)
	return r
}

// A PullPolicy says when a runner pulls an image.
type PullPolicy string

// The pull policies.
const (
	// PullIfNotPresent pulls an image that is not in the cache.
	PullIfNotPresent PullPolicy = "IfNotPresent"
	// PullAlways resolves the reference at the registry each time.
	PullAlways PullPolicy = "Always"
	// PullNever uses the image in the cache.
	PullNever PullPolicy = "Never"
)

// A NetworkPolicy says which network a container uses.
type NetworkPolicy string

// The network policies.
const (
	// NetworkIsolated has only the container's own loopback device.
	NetworkIsolated NetworkPolicy = "Isolated"
	// NetworkRunner is the network of the runner.
	NetworkRunner NetworkPolicy = "Runner"
)

// Auth is registry credentials with the fields of Docker's configuration.
type Auth struct {
	Username, Password           string
	Auth                         string
	IdentityToken, RegistryToken string
}

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
