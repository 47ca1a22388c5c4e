package session

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/render"
)

// A LastPass is the result of the last pass, with details of all passes.
type LastPass struct {
	*render.Result
	Passes int
	// Places are the places to which warnings of functions refer, by the index of the warning in
	// Results.
	Places map[int]string
	// Settled is true if the last two passes rendered the same composite resource
	// and the same composed resources. Results of functions may differ.
	Settled bool
	// ReadySince is the number of the pass since which all passes rendered a ready
	// composite resource. It is 0 if the last pass did not.
	ReadySince int
	// Changing are the fields that differ between the last two passes, sorted, as
	// in `composite resource: status.size` and `resource "bucket": spec.size`. A
	// resource that only one of the two passes rendered is listed without a field.
	Changing []string
	// Used are the fixtures that a pass observed. Unused are the others.
	Used, Unused []string
}

// render renders an XR: once or, if ObserveLoop is set, in several passes. It returns soon
// after ctx is done, although builtins and large conversions do not check ctx. The Result is nil
// if there is an error.
func (p plan) render(ctx context.Context, run function.Runner, req render.Request) (*LastPass, error) {
	return proc.Await(ctx, func() (*LastPass, error) {
		if p.in.ObserveLoop > 0 {
			return RenderPasses(ctx, run, req, 1+p.in.ObserveLoop, p.fixtures)
		}
		once, err := render.Render(ctx, run, req)
		if err != nil {
			return nil, p.observed.locate(err)
		}
		once.Warnings = append(once.Warnings, p.observed.misnamed(once.Composed)...)
		return &LastPass{Passes: 1, Result: once}, nil
	})
}

// RenderPasses renders a request until two passes have equal output and all fixtures have been
// applied, or until the maximum of passes is done, which is at least 1. Output that does not settle
// is not an error. Fixtures are the changes that providers would make between passes.
//
// From the second pass on, functions observe the composed resources of the previous pass.
// Their status comes from the user's observed resources, merged with fixtures, because in a
// cluster a composer cannot set the status. Resources that are no longer desired are not
// observed. The composite resource is the composite resource of the request, with the
// rendered status and, except in classic profiles, Crossplane's references. In profile V2,
// functions can still require observed Secrets that were never desired, because these
// contain connection details.
func RenderPasses(ctx context.Context, run function.Runner, req render.Request, passes int, fixtures []Fixture) (*LastPass, error) {
	l := passLoop{req: req, fixtures: fixtures, used: make([]bool, len(fixtures)), xr: req.XR.Object, given: req.Observed}
	l.req.Full = false
	out := &LastPass{}
	for {
		out.Passes++
		err := ctx.Err()
		var r *render.Result
		if err == nil {
			r, err = render.Render(function.WithPass(ctx, out.Passes), run, l.req)
		}
		if err != nil {
			return nil, fmt.Errorf("rendering pass %d: %w", out.Passes, err)
		}
		if out.Result != nil {
			out.Changing = changedFields(out.Result, r)
			out.Settled = len(out.Changing) == 0
		}
		out.Result = r
		out.noteReadiness()
		complete := !slices.ContainsFunc(l.fixtures, func(f Fixture) bool { return f.From >= out.Passes })
		if out.Passes < passes && !(out.Settled && complete) {
			l.feed(r, out.Passes)
			continue
		}
		if req.Full {
			if r.Full == nil {
				return nil, fmt.Errorf("rendering pass %d: %w", out.Passes, render.ErrNoSpec)
			}
			r.XR = r.Full
		}
		for i, f := range l.fixtures {
			to := &out.Unused
			if l.used[i] {
				to = &out.Used
			}
			*to = append(*to, f.String())
		}
		return out, nil
	}
}

func (r *LastPass) noteReadiness() {
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
