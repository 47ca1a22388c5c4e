package function

import (
	"context"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A Runner answers RunFunction calls for functions by name. The name is that
// of the Function object (metadata.name) which a pipeline step refers to.
//
// A Runner must not change the request, and must be safe for concurrent use.
// An error means that the call failed; a function that ran and refused says
// so by a result of severity FATAL in its response.
type Runner interface {
	RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
}

// RunnerFunc makes a Runner of a plain function.
type RunnerFunc func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)

// RunFunction calls f.
func (f RunnerFunc) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return f(ctx, name, req)
}

// A Mux hands each call to the Runner of that function's name.
type Mux map[string]Runner

// RunFunction calls the Runner registered for name. It returns an error if
// there is none.
func (m Mux) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	r, ok := m[name]
	if !ok {
		return nil, fmt.Errorf("unknown Function %q", name)
	}
	return r.RunFunction(ctx, name, req)
}

// A FatalError is a result of severity FATAL, which ends a pipeline.
type FatalError struct {
	// Step is the pipeline step, and Function the name of its function.
	Step, Function string
	// Message is what the function reported.
	Message string
}

// Error names the step and includes the message.
func (e *FatalError) Error() string {
	return fmt.Sprintf("pipeline step %q returned a fatal result: %s", e.Step, e.Message)
}
