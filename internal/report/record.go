package report

import (
	"context"
	"slices"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Recorder is a function.Runner that records the calls that it passes on. It
// is safe for concurrent use. Each XR needs its own Recorder.
type Recorder struct {
	runner function.Runner
	now    func() time.Time

	mu    sync.Mutex
	calls []Call
	pass  int // the pass to which calls belong
}

// A Call is one call of a function. It has the messages of the call, not copies: by the
// contract of function.Runner, nobody changes them afterwards.
type Call struct {
	Step, Function string
	Took           time.Duration
	// Request has the desired state and the context, but no credentials.
	Request  *fnv1.RunFunctionRequest
	Response *fnv1.RunFunctionResponse
	Err      error
}

// Record returns a Recorder of calls to r, which are timed by now.
func Record(r function.Runner, now func() time.Time) *Recorder {
	return &Recorder{runner: r, now: now}
}

// RunFunction calls the function and records the call, with the step in ctx.
// The first call of a pass discards the recorded calls of the pass before.
func (r *Recorder) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	c := Call{Step: function.Step(ctx), Function: name}
	c.Request = &fnv1.RunFunctionRequest{Desired: req.GetDesired(), Context: req.GetContext()}
	start := r.now()
	rsp, err := r.runner.RunFunction(ctx, name, req)
	c.Took = r.now().Sub(start)
	c.Response, c.Err = rsp, err

	r.mu.Lock()
	defer r.mu.Unlock()
	if pass := function.Pass(ctx); pass != r.pass {
		r.pass, r.calls = pass, nil
	}
	r.calls = append(r.calls, c)
	return rsp, err
}

// Calls returns the recorded calls in the order in which they ended.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// LastCalls returns the last call of each step. Only its response counts in a render.
func (r *Recorder) LastCalls() []Call {
	var last []Call
	for _, calls := range r.callsByStep() {
		last = append(last, calls[len(calls)-1])
	}
	return last
}

// Trace returns the recorded calls as the trace of the named XR.
func (r *Recorder) Trace(xr string) Trace {
	t := Trace{XR: xr, Steps: []Step{}}
	for _, calls := range r.callsByStep() {
		t.Steps = append(t.Steps, stepOf(calls))
	}
	return t
}

// callsByStep returns the calls of each step. A step has several calls if its function
// requires resources, because it is called again with them.
func (r *Recorder) callsByStep() [][]Call {
	var steps [][]Call
	for i, c := range r.Calls() {
		if last := len(steps) - 1; i > 0 && steps[last][0].Step == c.Step && steps[last][0].Function == c.Function {
			steps[last] = append(steps[last], c)
		} else {
			steps = append(steps, []Call{c})
		}
	}
	return steps
}

// stepOf returns the step that made these calls. The changes of the step are the
// changes in its last response. A failed step has no changes: its response is
// discarded.
func stepOf(calls []Call) Step {
	first, last := calls[0], calls[len(calls)-1]
	s := Step{Name: first.Step, Function: first.Function, Calls: len(calls)}
	s.respond(last.Response)
	if last.Err != nil {
		s.Error = last.Err.Error()
	}
	for _, c := range calls {
		s.Took += c.Took
	}
	if s.Error == "" && !s.Fatal {
		before := stateOf(first.Request.GetDesired(), first.Request.GetContext())
		after := stateOf(last.Response.GetDesired(), last.Response.GetContext())
		s.Changes = diffResources(before.desired, after.desired)
		s.ContextChanges = fieldpath.Diff(before.context, after.context)
	}
	return s
}

// Recorders has a Recorder for each XR. It is safe for concurrent use.
type Recorders struct {
	Now func() time.Time

	mu sync.Mutex
	of map[int]*Recorder
}

// Wrap returns a Recorder of the calls for the XR with the number n.
func (r *Recorders) Wrap(n int, next function.Runner) function.Runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[int]*Recorder{}
	}
	r.of[n] = Record(next, r.Now)
	return r.of[n]
}

// Trace returns the trace of the XR with the number n, and releases its calls. It reports
// false if Wrap was never called for n. runtimeOf and err are as in Trace.Complete.
func (r *Recorders) Trace(n int, xr string, runtimeOf func(function string) string, err error) (Trace, bool) {
	r.mu.Lock()
	recorder, ok := r.of[n]
	delete(r.of, n)
	r.mu.Unlock()
	if !ok {
		recorder = &Recorder{}
	}
	return recorder.Trace(xr).Complete(runtimeOf, err), ok
}
