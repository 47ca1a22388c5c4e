package converge

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/render"
)

// Options say how to go on after the first pass.
type Options struct {
	// Passes is the most that are made, counting the first, which observes
	// only what Request.Observed has. Less than 1 is 1.
	Passes int
	// Fixtures are what providers would report.
	Fixtures []Fixture
}

// A Result is that of the last pass, and how it came to be the last.
type Result struct {
	*render.Result
	// Passes is how many were made.
	Passes int
	// Settled says that the last pass rendered what the one before it had: the
	// same composite and composed resources. Results of functions may differ.
	// A single pass cannot tell.
	Settled bool
	// ReadySince is the pass from which on the composite resource was ready, or 0
	// if it is not.
	ReadySince int
	// Changing are the fields that differ between the last two passes, sorted,
	// as in `composite resource: status.size` and `resource "bucket": spec.size`.
	// A resource that only one of them has is named without a field.
	Changing []string
	// Unused are the fixtures that no pass has seen: nothing matched them, or
	// they were to hold later.
	Unused []string
}

// Render renders a request until two passes give the same and no fixture is
// still to come, or o.Passes are made; that these do not settle is no error.
//
// From the second pass on, composed resources that the last one rendered are
// the observed ones. Their status is what was given as observed, and what
// fixtures say: like an API server, the loop does not take a status from who
// composes. What is no longer desired is deleted, as Crossplane would. The
// composite resource is the one of the request with the status that was
// rendered and, unless the profile is a classic one, Crossplane's references.
// Secrets that were given as observed and never desired are connection
// details, which stay known in profile V2.
//
// An error of a pass is that of render.Render, with the number of the pass.
func Render(ctx context.Context, run function.Runner, req render.Request, o Options) (*Result, error) {
	l := begin(req, o.Fixtures)
	out := &Result{}
	for {
		out.Passes++
		r, err := l.pass(function.WithPass(ctx, out.Passes), run)
		if err != nil {
			return nil, fmt.Errorf("rendering pass %d: %w", out.Passes, err)
		}
		if out.Result != nil {
			out.Changing = changes(out.Result, r)
			out.Settled = len(out.Changing) == 0
		}
		out.Result = r
		out.noteReadiness()
		if out.Passes < o.Passes && !(out.Settled && l.complete(out.Passes)) {
			l.feed(r, out.Passes)
			continue
		}
		if req.Full {
			if r.Full == nil {
				return nil, fmt.Errorf("rendering pass %d: %w", out.Passes, render.ErrNoSpec)
			}
			r.XR = r.Full
		}
		out.Unused = l.unused()
		return out, nil
	}
}

// noteReadiness keeps account of what the last pass says of readiness.
func (r *Result) noteReadiness() {
	conditions, _, _ := unstructured.NestedFieldNoCopy(r.XR, "status", "conditions")
	ready := slices.ContainsFunc(reconciler.ParseConditions(conditions), func(c reconciler.Condition) bool {
		return c.Type == reconciler.TypeReady && c.Status == "True"
	})
	switch {
	case !ready:
		r.ReadySince = 0
	case r.ReadySince == 0:
		r.ReadySince = r.Passes
	}
}

func (l *loop) pass(ctx context.Context, run function.Runner) (*render.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return render.Render(ctx, run, l.req)
}

// complete reports whether a pass saw all fixtures hold that ever will.
func (l *loop) complete(pass int) bool {
	return !slices.ContainsFunc(l.fixtures, func(f Fixture) bool { return f.From >= pass })
}
