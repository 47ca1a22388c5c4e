package alpha

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/hint"
)

// Defaults of a function's container in the schema of a Composition.
const (
	defaultTimeout = 20 * time.Second
	defaultCPU     = "100m"
	defaultMemory  = "128Mi"
)

// checkFunctions validates functions as the API server and the reconciler do. It
// does not validate their types. The pipeline fails when it reaches a function of
// an unsupported type.
func checkFunctions(functions []functionSpec) error {
	names := map[string]bool{}
	for i := range functions {
		f := &functions[i]
		if err := f.check(names); err != nil {
			return under(fmt.Sprintf("spec.functions[%d]", i), err)
		}
		names[f.Name] = true
	}
	return nil
}

func (f *functionSpec) check(others map[string]bool) error {
	switch {
	case f.Name == "":
		return fault("name", "a name is required")
	case others[f.Name]:
		return fault("name", "another function has the name %q", f.Name)
	case f.Type == "":
		return fault("type", "a type is required")
	case f.Type != container:
		return nil
	case f.Container == nil || f.Container.Image == "":
		return fault("container.image", "an image is required")
	}
	if f.Config != nil {
		var config struct{ APIVersion, Kind string }
		if err := json.Unmarshal(f.Config.Raw, &config); err != nil || config.APIVersion == "" || config.Kind == "" {
			return fault("config", "a config must have an apiVersion and a kind")
		}
	}
	req := f.Container.request(nil)
	if !slices.Contains([]PullPolicy{PullIfNotPresent, PullAlways, PullNever}, req.PullPolicy) {
		return fault("container.imagePullPolicy", "expected IfNotPresent, Always or Never, got %q", req.PullPolicy)
	}
	if f.Container.Network != nil && req.Network != NetworkIsolated && req.Network != NetworkRunner {
		return fault("container.network.policy", "expected Isolated or Runner, got %q", req.Network)
	}
	return nil
}

// request returns the request to run the container. As in Kubernetes, the default
// of a nested field, such as network.policy, applies only if its parent is set.
func (c *containerFunction) request(input []byte) ContainerRequest {
	req := ContainerRequest{
		Image:      c.Image,
		Input:      input,
		PullPolicy: PullPolicy(or(c.ImagePullPolicy, string(PullIfNotPresent))),
		Timeout:    defaultTimeout,
	}
	if c.Timeout != nil {
		req.Timeout = c.Timeout.Duration
	}
	if n := c.Network; n != nil {
		req.Network = NetworkPolicy(or(n.Policy, string(NetworkIsolated)))
	}
	if r := c.Resources; r != nil && r.Limits != nil {
		req.CPU, req.Memory = quantity(r.Limits.CPU, defaultCPU), quantity(r.Limits.Memory, defaultMemory)
	}
	if r := c.Runner; r != nil {
		req.Endpoint = or(r.Endpoint, DefaultEndpoint)
	}
	return req
}

func or(text *string, byDefault string) string {
	if text == nil {
		return byDefault
	}
	return *text
}

func quantity(q *resource.Quantity, byDefault string) string {
	if q == nil {
		return byDefault
	}
	return q.String()
}

// run runs all functions, and returns the output of the last one. From the output of the
// previous function, a function gets only the desired state and the results.
func (c *Composition) run(ctx context.Context, run ContainerRunner, io fnio.FunctionIO) (fnio.FunctionIO, error) {
	for i := range c.functions {
		f := &c.functions[i]
		io.Config = f.Config
		got, err := f.run(ctx, run, &io)
		if other, ok := errors.AsType[*TypeError](err); ok {
			other.Field = fmt.Sprintf("spec.functions[%d].type", i)
		}
		if err != nil {
			return io, fmt.Errorf("cannot run function %q: %w", f.Name, err)
		}
		io.Desired, io.Results = got.Desired, got.Results
	}
	return io, nil
}

// container is the only type of alpha functions.
const container = "Container"

// A TypeError is the error of a function whose type is not supported.
type TypeError struct{ Field, Type string }

func (e *TypeError) Error() string { return fmt.Sprintf("unsupported function type %q", e.Type) }

func (f *functionSpec) run(ctx context.Context, run ContainerRunner, io *fnio.FunctionIO) (*fnio.FunctionIO, error) {
	if f.Type != container {
		next := "the only type is " + container
		if hint.Nearest(f.Type, []string{container}) != "" {
			next = "did you mean " + container + "?"
		}
		return nil, hint.Wrap(&TypeError{Type: f.Type}, next)
	}
	input, err := fnio.Encode(io)
	if err != nil {
		return nil, fmt.Errorf("cannot marshal input FunctionIO: %w", err)
	}
	output, err := runContainer(ctx, run, f.Container.request(input))
	if err != nil {
		return nil, fmt.Errorf("cannot run container: %w", err)
	}
	got, err := fnio.Decode(output)
	if err != nil {
		return nil, fmt.Errorf("cannot unmarshal output FunctionIO: %w", err)
	}
	return got, nil
}

// runContainer runs a container. It limits input and output to the size of a gRPC
// message, even if run does not use gRPC.
func runContainer(ctx context.Context, run ContainerRunner, req ContainerRequest) ([]byte, error) {
	if n := len(req.Input); n > MaxMessage {
		return nil, fmt.Errorf("the FunctionIO has %d bytes, but a message to a runner may have at most %d", n, MaxMessage)
	}
	output, err := run.RunContainer(ctx, req)
	switch n := len(output); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil && n > MaxMessage:
		return nil, fmt.Errorf("the container wrote %d bytes, but a message from a runner may have at most %d", n, MaxMessage)
	}
	return output, err
}

// setDesired replaces the desired state by the output of the last function. It
// returns the first Fatal result as an error.
func (r *reconcile) setDesired(io fnio.FunctionIO) error {
	for _, result := range io.Results {
		switch result.Severity {
		case fnio.Fatal:
			return fatalError{&function.FatalError{Message: result.Message}}
		case fnio.Warning, fnio.Normal:
			r.events = append(r.events, Event{result.Severity, result.Message})
		}
	}
	r.returned = &unstructured.Unstructured{}
	if err := json.Unmarshal(io.Desired.Composite.Resource.Raw, r.returned); err != nil {
		return fmt.Errorf("cannot unmarshal desired composite resource from FunctionIO: %w", err)
	}
	r.details = map[string][]byte{}
	for _, d := range io.Desired.Composite.ConnectionDetails {
		r.details[d.Name] = []byte(d.Value)
	}
	for i := range io.Desired.Resources {
		if err := r.addDesired(&io.Desired.Resources[i]); err != nil {
			return fmt.Errorf("cannot parse desired composed resource %q from FunctionIO: %w", io.Desired.Resources[i].Name, err)
		}
	}
	return nil
}

// addDesired adds a desired resource. If several resources have the same name,
// the last one applies.
func (r *reconcile) addDesired(d *fnio.DesiredResource) error {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(d.Resource.Raw, u); err != nil {
		return fmt.Errorf("cannot unmarshal desired composed resource from FunctionIO: %w", err)
	}
	if err := mark(u, d.Name, r.returned); err != nil {
		return err
	}
	c := r.composed(d.Name)
	c.object, c.desired = u, d
	return nil
}
