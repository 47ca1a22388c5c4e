package functiontest

import (
	"context"
	"slices"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
)

// A Call is one call of a function and its outcome.
type Call struct {
	Function string
	Request  *fnv1.RunFunctionRequest
	Response *fnv1.RunFunctionResponse
	Err      error
}

// A Recorder is a function.Runner that passes calls on and keeps them.
type Recorder struct {
	runner function.Runner

	mu    sync.Mutex
	calls []Call
}

// Record returns a Recorder of the calls that r gets.
func Record(r function.Runner) *Recorder { return &Recorder{runner: r} }

// RunFunction passes the call on.
func (r *Recorder) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	call := Call{Function: name, Request: proto.CloneOf(req)}
	rsp, err := r.runner.RunFunction(ctx, name, req)
	call.Response, call.Err = proto.CloneOf(rsp), err

	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return rsp, err
}

// Calls returns the calls until now, in the order in which they ended. They
// are copies: what caller or function do to a message later does not show.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
