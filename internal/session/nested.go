package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/render"
)

// DefaultDepth is how many levels of composite resources one may have below it.
const DefaultDepth = 8

// mostNested is how many composite resources one may lead to: Compositions that
// multiply at every level would never end.
const mostNested = 10_000

// A Rendered is one of the composite resources that are nested in one another.
type Rendered struct {
	// Parent is the index of the one that composes it in the list that this
	// one is in, or -1.
	Parent int
	// Path leads to it from the one without a parent: the names of composed
	// resources in their pipelines.
	Path []string
	// XR is what was rendered, with its XRD's defaults applied.
	XR *unstructured.Unstructured
	// Result is what its Composition made of it.
	*render.Result
	// Unmatched names, as Path does, those of its composed resources that are
	// XRs by an XRD of the library, for which it has no Composition.
	Unmatched []string
}

// A subject is a composite resource and what it takes to render it.
type subject struct {
	XR *unstructured.Unstructured
	composition.Entry
	// Legacy and Observed are as in reconciler.Input.
	Legacy   bool
	Observed []*unstructured.Unstructured
}

// A nesting renders composite resources together with those that they compose.
// It is safe for concurrent use if render is.
type nesting struct {
	library *composition.Library
	// depth is how many levels there may be below the first.
	depth    int
	observed census
	// render renders one. It must not change the subject.
	render func(context.Context, subject) (*render.Result, error)
}

// all renders root, whose Observed it sets, and every XR that the library has a
// Composition for and that is composed along the way: parents before children,
// and those in the order of their parent's composed resources. An error of
// render is returned as it is for root, and in the chain of one that names all
// XRs on the way for the others. It is an error if XRs are nested too deep, or
// in themselves.
func (n nesting) all(ctx context.Context, root subject) ([]Rendered, error) {
	w := walk{nesting: n}
	if err := w.visit(ctx, root, -1, nil); err != nil {
		return nil, err
	}
	return w.done, nil
}

// root returns what it takes to render an XR or a claim that nothing composes.
// It does not change u.
func (n nesting) root(u *unstructured.Unstructured) (subject, error) {
	xr, err := n.asXR(u)
	if err != nil {
		return subject{}, err
	}
	n.observed.identify(xr, true)
	return n.complete(xr)
}

// asXR returns a copy of u, or the XR of a claim.
func (n nesting) asXR(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if xrd, ok := n.library.ClaimOf(u.GroupVersionKind()); ok {
		return composition.FromClaim(u, xrd)
	}
	return u.DeepCopy(), nil
}

// complete applies the defaults of xr's XRD to it and selects its Composition.
func (n nesting) complete(xr *unstructured.Unstructured) (subject, error) {
	xrd, known := n.library.XRDFor(xr.GroupVersionKind())
	if known {
		if err := xrd.Default(xr); err != nil {
			return subject{}, fmt.Errorf("applying the defaults of the XRD of %s: %w", xrd.Kind(), err)
		}
	}
	entry, err := n.library.Select(xr)
	if err != nil {
		return subject{}, fmt.Errorf("selecting a Composition for %s: %w", composition.Describe(xr), err)
	}
	return subject{XR: xr, Entry: entry, Legacy: known && xrd.Legacy()}, nil
}

// A walk is one render of an XR and all below it.
type walk struct {
	nesting
	done []Rendered
	// open are the XRs from the first to the one that is being rendered.
	open []*unstructured.Unstructured
}

func (w *walk) visit(ctx context.Context, s subject, parent int, path []string) error {
	w.open = append(w.open, s.XR)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	if err := w.check(ctx); err != nil {
		return w.locate(err)
	}
	s.Observed = w.observed.of(s.XR, parent < 0)
	result, err := w.render(ctx, s)
	if err != nil {
		return w.locate(err)
	}
	self := len(w.done)
	w.done = append(w.done, Rendered{Parent: parent, Path: path, XR: s.XR, Result: result})
	for _, composed := range result.Composed {
		if err := w.descend(ctx, &unstructured.Unstructured{Object: composed}, self); err != nil {
			return err
		}
	}
	return nil
}

// descend visits a composed resource if it is an XR.
func (w *walk) descend(ctx context.Context, u *unstructured.Unstructured, parent int) error {
	_, isXR := w.library.XRDFor(u.GroupVersionKind())
	_, isClaim := w.library.ClaimOf(u.GroupVersionKind())
	if !isXR && !isClaim && len(w.library.For(u.GroupVersionKind())) == 0 {
		return nil
	}
	name := u.GetAnnotations()[reconciler.AnnotationResourceName]
	xr, err := w.asXR(u)
	if err != nil {
		return w.locate(err)
	}
	if len(w.library.For(xr.GroupVersionKind())) == 0 {
		w.done[parent].Unmatched = append(w.done[parent].Unmatched, name)
		return nil
	}
	// A status that the parent desires never gets to the API server.
	unstructured.RemoveNestedField(xr.Object, "status")
	w.observed.identify(xr, false)
	child, err := w.complete(xr)
	if err != nil {
		return w.locate(err)
	}
	return w.visit(ctx, child, parent, append(slices.Clone(w.done[parent].Path), name))
}

// check says why the innermost of the open XRs is not to be rendered.
func (w *walk) check(ctx context.Context) error {
	last := len(w.open) - 1
	xr := w.open[last]
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case slices.ContainsFunc(w.open[:last], func(u *unstructured.Unstructured) bool { return same(u, xr) }):
		return errors.New("it is composed by itself")
	case last > w.depth:
		return hint.Wrap(fmt.Errorf("it is more than %d levels below the first", w.depth), "look for Compositions that compose one another's XRs, or allow more levels")
	case len(w.done) >= mostNested:
		return fmt.Errorf("it is one of more than %d, which is the most that there may be", mostNested)
	}
	return nil
}

// same reports whether two objects are one in an API server. What has no name
// is only itself.
func same(a, b *unstructured.Unstructured) bool {
	return a.GetName() != "" && a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace() &&
		a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind()
}

// locate adds to an error how the walk came to it, unless that is clear.
func (w *walk) locate(err error) error {
	if len(w.open) == 1 && len(w.done) == 0 {
		return err
	}
	names := make([]string, len(w.open))
	for i, xr := range w.open {
		names[i] = composition.Describe(xr)
	}
	return fmt.Errorf("rendering nested composite resources: %s: %w", strings.Join(names, " > "), err)
}
