package intercept

import (
	"context"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
)

// An UnstableError reports that a function gave two responses to one request.
type UnstableError struct {
	Function, Step string
	// First and Second are the responses in protobuf's JSON form.
	First, Second map[string]any
}

// Error implements error.
func (e *UnstableError) Error() string {
	return fmt.Sprintf("function %q at step %q answers the same request in two ways", e.Function, e.Step)
}

// Twice returns a Runner that calls r twice for each call. It returns the first
// response, or an *UnstableError if they differ.
func Twice(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		first, err := r.RunFunction(ctx, name, proto.CloneOf(req))
		if err != nil {
			return first, err
		}
		second, err := r.RunFunction(ctx, name, req)
		if err != nil {
			return second, fmt.Errorf("calling function %q again: %w", name, err)
		}
		if proto.Equal(first, second) {
			return first, nil
		}
		e := &UnstableError{Function: name, Step: function.Step(ctx)}
		if e.First, err = values(first); err == nil {
			e.Second, err = values(second)
		}
		if err != nil {
			return nil, fmt.Errorf("encoding the response of function %q: %w", name, err)
		}
		return nil, e
	})
}
