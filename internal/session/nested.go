package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// maxDepth is the maximum number of levels of composite resources below the first.
const maxDepth = 8

// maxNested limits the number of composite resources that are rendered for one XR.
const maxNested = 10_000

// A family renders XRs, and all XRs that they compose.
type family struct {
	session *Session
	plan    plan
	library *composition.Library
	// definitions is Result.Definitions.
	definitions schema.Definitions
	// pipelines has the pipeline of each Composition, by its position.
	pipelines proc.Memo[string, pipeline]
	// depth is the maximum number of levels of XRs below the first XR.
	depth int
	// next is the next unused Result.N for a nested XR.
	next atomic.Int64
	// render renders one XR, without the XRs that it composes.
	render func(ctx context.Context, n int, e composition.Entry, req render.Request) (*LastPass, []Run, error)
}

// results renders the XR in doc, or the XR of the claim in doc, and recursively
// every composed XR that has a Composition. Parents precede their children.
// Children are in the order of the parent's composed resources. The first error
// ends the render and is in the last result.
func (f *family) results(ctx context.Context, n int, doc manifest.Document) []Result {
	w := walk{family: f, n: n, doc: doc}
	r := w.result(nil)
	from, err := decodeXR(doc)
	if err != nil {
		_ = w.fail(r, err)
	} else if r.Invalid, err = f.plan.validate(ctx, doc, from, from.copy()); err != nil {
		_ = w.fail(r, err)
	} else if xr, err := w.asXR(from.copy()); err != nil {
		_ = w.fail(r, err)
	} else {
		_ = w.visit(ctx, xr, r, nil)
	}
	return w.done
}

// A walk renders one XR and, recursively, all XRs that it composes.
type walk struct {
	*family
	n    int
	doc  manifest.Document
	done []Result
	// open is the path from the first XR to the current one.
	open []*unstructured.Unstructured
}

// result returns a Result without output for the XR at path, the names of
// composed resources from the first XR to it.
func (w *walk) result(path []string) Result {
	r := Result{N: w.n, Source: w.doc.Position(), Document: w.doc, Definitions: w.definitions}
	if len(w.done) > 0 {
		r.N, r.Document = int(w.next.Add(1)-1), manifest.Document{}
	}
	if len(path) > 0 {
		r.Source += " " + strings.Join(path, " > ")
	}
	return r
}

// fail adds the Result of an XR that cannot be rendered, and returns its error.
func (w *walk) fail(r Result, err error) error {
	if len(w.open) > 0 {
		err = explainName(err, w.open[0].GetName(), w.doc)
	}
	r.Source, r.LastPass, r.Observed, r.Missing, r.Err = w.doc.Position(), nil, nil, nil, w.locate(err)
	w.done = append(w.done, r)
	return r.Err
}

// asXR returns a copy of u or, if u is a claim, the XR of the claim.
func (w *walk) asXR(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if xrd, ok := w.library.ClaimOf(u.GroupVersionKind()); ok {
		return composition.FromClaim(u, xrd)
	}
	return &unstructured.Unstructured{Object: schema.Copy(u.Object)}, nil
}

// request returns the render request for xr, and the Composition that xr
// selects. It sets missing fields of xr.
func (w *walk) request(ctx context.Context, xr *unstructured.Unstructured) (req render.Request, e composition.Entry, err error) {
	xrd := w.xrdFor(xr.GroupVersionKind())
	req = w.plan.request
	req.XR = xr
	if err = w.plan.prepare(&req, xrd, len(w.open) == 0); err != nil {
		return req, e, fmt.Errorf("applying the defaults of the XRD of %s: %w", xrd.Kind(), err)
	}
	if e, err = w.library.Select(xr); err != nil {
		if gvk := xr.GroupVersionKind(); len(w.library.For(gvk)) == 0 {
			err = hint.Wrap(err, w.session.unreadFolder(ctx, w.plan.in.Compositions, gvk))
		}
		return req, e, fmt.Errorf("selecting a Composition for %s: %w", composition.Describe(xr), err)
	}
	req.Composition = e.Composition
	return req, e, nil
}

// xrdFor returns the XRD of XRs of a kind, or nil.
func (f *family) xrdFor(gvk kschema.GroupVersionKind) *decodedXRD {
	if xrd, ok := f.library.XRDFor(gvk); ok {
		return &decodedXRD{XRD: xrd}
	}
	return nil
}

// renderOne implements family.render. It checks a Composition, and starts its functions, only once for
// all XRs.
func (f *family) renderOne(ctx context.Context, n int, e composition.Entry, req render.Request) (*LastPass, []Run, error) {
	l, err := f.pipelines.Do(e.Document.Position(), func() (pipeline, error) {
		p := f.plan
		p.xrd = f.xrdFor(req.XR.GroupVersionKind())
		p.setEntry(e)
		f.session.switchOff(&p)
		err := f.session.checkIntegrity(ctx, p, composition.Check(e, nil))
		if err == nil {
			err = f.session.checkFields(ctx, p)
		}
		if err != nil {
			return pipeline{}, err
		}
		return f.session.pipeline(ctx, p)
	})
	if err != nil {
		return nil, nil, err
	}
	req.Composition = l.entry.Composition
	r, err := f.session.output(ctx, l, n, req)
	return r, l.runs, err
}

// visit renders xr, whose Result is r, and all XRs below it. path has the names of composed
// resources from the first XR to xr.
func (w *walk) visit(ctx context.Context, xr *unstructured.Unstructured, r Result, path []string) error {
	req, entry, err := w.request(ctx, xr)
	if err != nil {
		return w.fail(r, err)
	}
	w.open = append(w.open, xr)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	if err := w.check(ctx); err != nil {
		return w.fail(r, err)
	}
	r.Observed = req.Observed
	if w.plan.in.Live {
		r.Missing = w.plan.observed.missing(xr)
		w.session.warnUnreferenced(w.plan.observed, xr)
	}
	if r.LastPass, r.Functions, err = w.render(ctx, r.N, entry, req); err != nil {
		return w.fail(r, err)
	}
	self := len(w.done)
	w.done = append(w.done, r)
	for _, composed := range r.Composed {
		if err := w.descend(ctx, &unstructured.Unstructured{Object: composed}, self, path); err != nil {
			return err
		}
	}
	return nil
}

// descend renders the composed resource u, with all XRs below it, if u is an XR or a claim.
func (w *walk) descend(ctx context.Context, u *unstructured.Unstructured, parent int, path []string) error {
	_, isXR := w.library.XRDFor(u.GroupVersionKind())
	_, isClaim := w.library.ClaimOf(u.GroupVersionKind())
	if !isXR && !isClaim && len(w.library.For(u.GroupVersionKind())) == 0 {
		return nil
	}
	name := reconciler.ResourceName(u.Object)
	path = append(slices.Clone(path), name)
	xr, err := w.asXR(u)
	if err != nil {
		return w.fail(w.result(path), err)
	}
	if len(w.library.For(xr.GroupVersionKind())) == 0 {
		r := w.done[parent].LastPass
		r.Warnings = append(r.Warnings, fmt.Sprintf("there is no Composition for composed resource %q, which is a composite resource", name))
		return nil
	}
	// The API server drops the status that a parent XR desires for u.
	unstructured.RemoveNestedField(xr.Object, "status")
	r := w.result(path)
	if r.Invalid, err = w.plan.validateComposed(ctx, r.Source, w.open[len(w.open)-1], u); err != nil {
		return w.fail(r, err)
	}
	return w.visit(ctx, xr, r, path)
}

// check returns an error if the current XR, the last in w.open, must not be rendered.
func (w *walk) check(ctx context.Context) error {
	last := len(w.open) - 1
	xr := w.open[last]
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case slices.ContainsFunc(w.open[:last], func(u *unstructured.Unstructured) bool { return xr.GetName() != "" && keyOf(u) == keyOf(xr) }):
		return errors.New("the composite resource composes itself")
	case last > w.depth:
		return hint.Wrap(fmt.Errorf("the composite resource is more than %d levels below the first", w.depth), "look for Compositions that compose one another's XRs")
	case len(w.done) >= maxNested:
		return fmt.Errorf("there are more than %d composite resources", maxNested)
	}
	return nil
}

// locate adds the names of the XRs from the first to the current one to an
// error. It returns an error of the first XR unchanged.
func (w *walk) locate(err error) error {
	if len(w.done) == 0 {
		return err
	}
	names := make([]string, len(w.open))
	for i, xr := range w.open {
		names[i] = composition.Describe(xr)
	}
	return fmt.Errorf("rendering nested composite resources: %s: %w", strings.Join(names, " > "), err)
}
