package alpha

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Defaults of the fields of a ContainerRequest.
const (
	// DefaultTimeout is how long a container may run by default.
	DefaultTimeout = 25 * time.Second
	// DefaultEndpoint is the gRPC target that Crossplane calls by default.
	DefaultEndpoint = "unix-abstract:crossplane/fn/default.sock"
)

// MaxMessage is the maximum size in bytes of a message between Crossplane and a
// runner, in both directions. It is the default of gRPC, which neither Crossplane
// nor the runner changes. A larger FunctionIO cannot be sent.
const MaxMessage = 4 << 20

// A ContainerRunner runs the containers of functions. It is a sandbox, a gRPC
// client, or a fake. It must be safe for concurrent use.
type ContainerRunner interface {
	// RunContainer runs a container once, and returns its standard output, which
	// may be empty or invalid.
	//
	// It returns an error if the exit code of the container is not 0. It removes
	// the container and its files, even if ctx is done or the timeout ends. The
	// timeout includes the time to pull the image.
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
	// Image is an image reference, such as "registry.example.org/fn:v1".
	Image string
	// Input is the standard input of the container: a FunctionIO in YAML.
	Input []byte
	// PullPolicy is PullIfNotPresent if it is empty.
	PullPolicy PullPolicy
	// Auth has the credentials for the image's registry. If it is nil, the runner
	// uses its own credentials.
	Auth *Auth
	// CPU and Memory are limits as Kubernetes quantities, such as "100m" and
	// "128Mi". An empty string means no limit.
	CPU, Memory string
	// Network is NetworkIsolated if it is empty.
	Network NetworkPolicy
	// Timeout is DefaultTimeout if it is 0.
	Timeout time.Duration
	// Endpoint is the gRPC target of the runner that the Composition names. If it
	// is empty, any runner may be used.
	Endpoint string
}

// Complete returns a copy of the request in which empty fields have their defaults.
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
	// PullIfNotPresent pulls an image only if it is not in the cache.
	PullIfNotPresent PullPolicy = "IfNotPresent"
	// PullAlways resolves the reference at the registry each time.
	PullAlways PullPolicy = "Always"
	// PullNever uses the image in the cache, and fails if there is none.
	PullNever PullPolicy = "Never"
)

// A NetworkPolicy says which network a container uses.
type NetworkPolicy string

// The network policies.
const (
	// NetworkIsolated is a network with only the container's loopback device.
	NetworkIsolated NetworkPolicy = "Isolated"
	// NetworkRunner is the network that the runner itself uses.
	NetworkRunner NetworkPolicy = "Runner"
)

// Auth has registry credentials, in the fields of Docker's configuration file. The tags are those
// of the message in package grpc.
type Auth struct {
	Username      string `protobuf:"bytes,1,opt,name=username,proto3"`
	Password      string `protobuf:"bytes,2,opt,name=password,proto3"`
	Auth          string `protobuf:"bytes,3,opt,name=auth,proto3"`
	IdentityToken string `protobuf:"bytes,4,opt,name=identity_token,proto3"`
	RegistryToken string `protobuf:"bytes,5,opt,name=registry_token,proto3"`
}

// LimitContainers returns a ContainerRunner that runs at most n containers of r at once.
// The timeout of a call includes the time that the call waits for other containers.
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
