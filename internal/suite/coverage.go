package suite

import (
	"context"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// covering returns a Runner that records the calls to r for the coverage, if it is collected.
func (a *attempt) covering(r function.Runner) function.Runner {
	if a.options.Coverage == nil {
		return r
	}
	return a.coverage.Wrap(r, func(step string) bool {
		_, mocked := a.form.Mocks[step]
		return mocked
	})
}

// cover adds the case to the coverage. A case whose render failed covers the parts that ran.
func (a *attempt) cover(ctx context.Context, r session.Result) {
	if a.options.Coverage == nil || r.Composition.Composition == nil {
		return
	}
	c := coverage.Case{Composition: r.Composition, Recorder: &a.coverage}
	// The render has already reported an XR or an XRD that cannot be decoded.
	c.XR, _ = r.Document.Object()
	if isSet(a.form.XRD) {
		if docs, err := a.documents(ctx, []spec.Source{a.form.XRD}, "xrd"); err == nil && len(docs) > 0 {
			c.XRD, _ = docs[0].Object()
		}
	}
	if r.LastPass != nil {
		c.Composed = reconciler.ComposedByName(r.Composed)
		c.Checked = a.checker.Checked(a.form, a.subject(r))
	}
	a.options.Coverage.Add(c)
}
