package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

// A tape keeps the calls of one case, of the last pass if there are several. It
// makes errors of what functions of this process panic with.
type tape struct {
	next function.Runner
	now  func() time.Time

	mu    sync.Mutex
	pass  int
	calls []call
}

type call struct {
	step, name string
	took       time.Duration
	req        *fnv1.RunFunctionRequest
	rsp        *fnv1.RunFunctionResponse
	err        error
}

// RunFunction passes the call on.
func (t *tape) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	began := t.now()
	rsp, err := recovered(ctx, t.next, name, req)
	c := call{function.Step(ctx), name, t.now().Sub(began), req, rsp, err}
	t.mu.Lock()
	defer t.mu.Unlock()
	if pass := function.Pass(ctx); pass != t.pass {
		t.pass, t.calls = pass, nil
	}
	t.calls = append(t.calls, c)
	return rsp, err
}

func recovered(ctx context.Context, r function.Runner, name string, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("function %q panicked: %v", name, p)
		}
	}()
	return r.RunFunction(ctx, name, req)
}

// trace returns what the calls did.
func (t *tape) trace(ctx context.Context, xr string) report.Trace {
	var clock time.Time
	var now call
	recorder := report.Record(function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		clock = clock.Add(now.took)
		return now.rsp, now.err
	}), func() time.Time { return clock })
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, now = range t.calls {
		// What the call returned is on the tape.
		_, _ = recorder.RunFunction(function.WithStep(ctx, now.step), now.name, now.req)
	}
	return recorder.Trace(xr)
}

// last returns the calls that count: of each step the last one.
func (t *tape) last() []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []call
	for i, c := range t.calls {
		if i+1 == len(t.calls) || t.calls[i+1].step != c.step {
			all = append(all, c)
		}
	}
	return all
}

// results returns what functions reported.
func (t *tape) results() []check.Reported {
	var all []check.Reported
	for _, c := range t.last() {
		for _, r := range report.ResultsOf(c.rsp) {
			all = append(all, check.Reported{Step: c.step, Result: r})
		}
	}
	return all
}

// ready returns which composed resources the last step left as ready.
func (t *tape) ready() map[string]bool {
	calls := t.last()
	if len(calls) == 0 {
		return nil
	}
	ready := map[string]bool{}
	for name, r := range calls[len(calls)-1].rsp.GetDesired().GetResources() {
		ready[name] = r.GetReady() == fnv1.Ready_READY_TRUE
	}
	return ready
}
