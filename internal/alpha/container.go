package alpha

import (
	"cmp"
	"context"
	"time"
)

// What counts where a Composition, or who calls a runner, says nothing.
const (
	// DefaultTimeout is what a runner takes no timeout for.
	DefaultTimeout = 25 * time.Second
	// DefaultEndpoint is the gRPC target of the runner that Crossplane calls.
	DefaultEndpoint = "unix-abstract:crossplane/fn/default.sock"
)

// MaxMessage is the size of the largest message between Crossplane and a runner,
// in bytes: gRPC's own default, which neither of them raises. A FunctionIO has
// to fit, in both directions.
const MaxMessage = 4 << 20

// A Runner runs functions. Whoever can is one: a sandbox, a client of a runner
// elsewhere, a fake. It may be called by many goroutines at once.
type ContainerRunner interface {
	// RunContainer runs a container once, and returns what it wrote to its
	// standard output. That is not looked at: it may be empty, or no FunctionIO.
	//
	// It is an error if the container does not exit with 0. By then nothing of
	// it is left, nor if ctx is done or the timeout is over, which counts from
	// the call and so includes getting the image.
	RunContainer(ctx context.Context, req ContainerRequest) (output []byte, err error)
}

// ContainerRunnerFunc makes a Runner of a function.
type ContainerRunnerFunc func(ctx context.Context, req ContainerRequest) ([]byte, error)

// RunContainer calls f.
func (f ContainerRunnerFunc) RunContainer(ctx context.Context, req ContainerRequest) ([]byte, error) {
	return f(ctx, req)
}

// A Request is a container to run. Only Image is required.
type ContainerRequest struct {
	// Image is a reference, as in "registry.example.org/fn:v1".
	Image string
	// Input is its standard input: a FunctionIO in YAML.
	Input []byte
	// PullPolicy is PullIfNotPresent by default.
	PullPolicy PullPolicy
	// Auth is for the image's registry. Nil means what the runner itself has.
	Auth *Auth
	// CPU and Memory are limits in the form of Kubernetes' quantities, as in
	// "100m" cores and "128Mi" bytes. Empty means that there is no limit.
	CPU, Memory string
	// Network is NetworkIsolated by default.
	Network NetworkPolicy
	// Timeout is DefaultTimeout by default.
	Timeout time.Duration
	// Endpoint is the gRPC target of the runner that the Composition asks for,
	// or empty if it does not mind.
	Endpoint string
}

// Complete returns the request with what counts where it says nothing.
func (r ContainerRequest) Complete() ContainerRequest {
	r.PullPolicy = cmp.Or(r.PullPolicy, PullIfNotPresent)
	r.Network = cmp.Or(r.Network, NetworkIsolated)
	r.Timeout = cmp.Or(r.Timeout, DefaultTimeout)
	return r
}

// A PullPolicy says when an image is got from its registry.
type PullPolicy string

// The pull policies.
const (
	// PullIfNotPresent gets what is not there.
	PullIfNotPresent PullPolicy = "IfNotPresent"
	// PullAlways asks the registry which image it is each time.
	PullAlways PullPolicy = "Always"
	// PullNever takes what is there.
	PullNever PullPolicy = "Never"
)

// A NetworkPolicy says which network a container has.
type NetworkPolicy string

// The network policies.
const (
	// NetworkIsolated is none but its own loopback.
	NetworkIsolated NetworkPolicy = "Isolated"
	// NetworkRunner is that of the runner.
	NetworkRunner NetworkPolicy = "Runner"
)

// Auth are credentials for a registry, as Docker's configuration has them.
type Auth struct {
	Username, Password           string
	Auth                         string
	IdentityToken, RegistryToken string
}
