package function

import (
	"context"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A Runner answers RunFunction calls. The name is the metadata.name of the Function
// object, to which a pipeline step refers.
//
// A Runner must be safe for concurrent use. It must not change the request, and, once it
// has returned a response, neither the Runner nor its caller changes that response:
// messages are shared, not copied. An error means that the call failed. A function that
// rejects its request returns a response with a result of severity FATAL, and no error.
type Runner interface {
	RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
}

// A RunnerFunc is a function that implements Runner.
type RunnerFunc func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)

// RunFunction calls f.
func (f RunnerFunc) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return f(ctx, name, req)
}

// A Mux passes each call to the Runner that is registered for the function's name.
type Mux map[string]Runner

// RunFunction calls the Runner registered for name. It returns an error if name is
// not registered.
func (m Mux) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	r := m[name]
	if r == nil {
		return nil, fmt.Errorf("unknown Function %q", name)
	}
	return r.RunFunction(ctx, name, req)
}

// A FatalError is a result of severity FATAL, which ends a pipeline.
type FatalError struct {
	// Step is the name of the pipeline step, and Function is the name of its function.
	Step, Function string
	// Message is what the function reported.
	Message string
}

// Error names the step and includes the message, without the middle of a long message.
func (e *FatalError) Error() string {
	return fmt.Sprintf("pipeline step %q returned a fatal result: %s", e.Step, shorten(e.Message))
}

// shorten leaves out the middle of a text of more than 8 KiB. A template that includes itself a
// thousand times fails with a text of 80 KiB.
func shorten(text string) string {
	const most, end = 8 << 10, 2 << 10
	if len(text) <= most {
		return text
	}
	short := fmt.Sprintf("%s... (%d bytes) ...%s", text[:end], len(text)-2*end, text[len(text)-end:])
	return strings.ToValidUTF8(short, "") // without the halves of characters
}

type stepKey struct{}

// WithStep returns a context with the name of the pipeline step that calls a
// function. A render passes such a context to Runners. A function behind gRPC does not get the name.
func WithStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// Step returns the name of the pipeline step in ctx, or "" if there is none.
func Step(ctx context.Context) string {
	step, _ := ctx.Value(stepKey{}).(string)
	return step
}

type passKey struct{}

// WithPass returns a context with the number of a pass, for renders that run a
// pipeline several times. The first pass is 1.
func WithPass(ctx context.Context, pass int) context.Context {
	return context.WithValue(ctx, passKey{}, pass)
}

// Pass returns the number of the pass in ctx, or 0 if there is none.
func Pass(ctx context.Context) int {
	pass, _ := ctx.Value(passKey{}).(int)
	return pass
}
