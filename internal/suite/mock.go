package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// mock returns the Runner that replaces the function of a step.
func (a *attempt) mock(m spec.Mock) (function.Runner, error) {
	switch {
	case (m.Response != nil) == (m.Recording != ""):
		return nil, errors.New("expected either a response or a recording")
	case m.Response != nil:
		return literal(m.Response)
	case a.options.Recording == nil:
		return nil, errors.New("recordings are not supported here")
	default:
		return a.options.Recording(a.path(m.Recording))
	}
}

// recovering returns a Runner that turns a panic of r, such as a builtin, into
// an error.
func recovering(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("function %q panicked: %v", name, p)
			}
		}()
		return r.RunFunction(ctx, name, req)
	})
}

// literal returns a Runner that always returns one response. Desired state and
// context that the response does not set are copied from the request.
func literal(response map[string]any) (function.Runner, error) {
	text, err := json.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	answer := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(text, answer); err != nil {
		return nil, fmt.Errorf("response: invalid RunFunctionResponse: %w", err)
	}
	return function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp := &fnv1.RunFunctionResponse{
			Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()},
			Desired: proto.CloneOf(req.GetDesired()),
			Context: proto.CloneOf(req.GetContext()),
		}
		proto.Merge(rsp, answer)
		return rsp, nil
	}), nil
}
