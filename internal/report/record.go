package report

import (
	"context"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A Recorder is a function.Runner that passes calls on and keeps what a Trace
// tells of them. It is safe for concurrent use, but the calls of several XRs
// cannot be told apart: each wants its own.
type Recorder struct {
	runner function.Runner
	now    func() time.Time

	mu    sync.Mutex
	calls []call
	pass  int // whose calls these are
}

// A call is one call of a function. It holds copies, and no credentials.
type call struct {
	step, function string
	took           time.Duration
	before, after  state
	response       response
}

// Record returns a Recorder of the calls that r gets. The time that a call
// takes is measured by now.
func Record(r function.Runner, now func() time.Time) *Recorder {
	return &Recorder{runner: r, now: now}
}

// RunFunction passes the call on. The step that it is for is that of
// function.Step.
func (r *Recorder) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	c := call{step: function.Step(ctx), function: name, before: stateOf(req.GetDesired(), req.GetContext())}
	start := r.now()
	rsp, err := r.runner.RunFunction(ctx, name, req)
	c.took = r.now().Sub(start)
	c.after = stateOf(rsp.GetDesired(), rsp.GetContext())
	c.response = responseOf(rsp, err)

	r.mu.Lock()
	defer r.mu.Unlock()
	if pass := function.Pass(ctx); pass != r.pass {
		r.pass, r.calls = pass, nil
	}
	r.calls = append(r.calls, c)
	return rsp, err
}

// Trace returns what has been recorded until now as the trace of one XR, whose
// name is only passed on.
func (r *Recorder) Trace(xr string) Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Trace{XR: xr, Steps: []Step{}}
	for rest := r.calls; len(rest) > 0; {
		n := sameStep(rest)
		t.Steps = append(t.Steps, stepOf(rest[:n]))
		rest = rest[n:]
	}
	return t
}

// sameStep returns how many of the calls, from the first, belong to one step:
// a function may be called several times until it has what it requires.
func sameStep(calls []call) int {
	n := 1
	for n < len(calls) && calls[n].step == calls[0].step && calls[n].function == calls[0].function {
		n++
	}
	return n
}

// stepOf makes a step of its calls. Only the last response counts. A step that
// failed has changed nothing, since its response is thrown away.
func stepOf(calls []call) Step {
	first, last := calls[0], calls[len(calls)-1]
	s := Step{
		Name:         first.step,
		Function:     first.function,
		Calls:        len(calls),
		Results:      last.response.results,
		Conditions:   last.response.conditions,
		Requirements: last.response.requirements,
		Error:        last.response.err,
		Fatal:        last.response.fatal,
	}
	for _, c := range calls {
		s.Took += c.took
	}
	if s.Error == "" && !s.Fatal {
		s.Changes = diffResources(first.before.desired, last.after.desired)
		s.ContextChanges = fieldpath.Diff(first.before.context, last.after.context)
	}
	return s
}
