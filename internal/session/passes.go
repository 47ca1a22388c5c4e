package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
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

// A passLoop is the state that RenderPasses keeps between two passes.
type passLoop struct {
	// req is the request of the next pass.
	req      render.Request
	fixtures []Fixture
	used     []bool
	// xr is the composite resource of the original request. given are its observed
	// resources, without the resources that a pass deleted.
	xr    map[string]any
	given []*unstructured.Unstructured
}

// feed prepares l.req, the request of the next pass, from r, the result of the
// current pass.
func (l *passLoop) feed(r *render.Result, pass int) {
	existing := reconciler.ByName(l.given)
	l.req.Observed = make([]*unstructured.Unstructured, len(r.Composed))
	var kept []*unstructured.Unstructured
	for i, doc := range r.Composed {
		rendered := &unstructured.Unstructured{Object: doc}
		name := rendered.GetAnnotations()[reconciler.AnnotationResourceName]
		var before map[string]any
		// With another kind or name, it is a new resource, although its name in the pipeline is the same.
		if o := existing[name]; o != nil && o.GroupVersionKind().GroupKind() == rendered.GroupVersionKind().GroupKind() && o.GetName() == rendered.GetName() {
			before = o.Object
			kept = append(kept, o)
		}
		l.req.Observed[i] = l.observe(before, rendered, name, pass)
	}
	if pass == 1 && l.reconciles() {
		l.keepSecrets(kept)
	}
	l.given = kept
	slices.SortStableFunc(l.req.Observed, l.byReference)
	l.req.XR = &unstructured.Unstructured{Object: l.composite(r.XR)}
}

// reconciles reports whether the profile is V2. Only in V2, functions observe
// the fields that Crossplane writes to the composite resource.
func (l *passLoop) reconciles() bool { return l.req.Profile == "" || l.req.Profile == render.V2 }

// composite returns the composite resource that the next pass observes: the composite
// resource of the original request, merged with doc, the rendered composite resource.
// In profiles other than V2, only the status of doc is merged.
func (l *passLoop) composite(doc map[string]any) map[string]any {
	if !l.reconciles() {
		doc = map[string]any{"status": doc["status"]}
		maps.DeleteFunc(doc, func(_ string, v any) bool { return v == nil })
	}
	return mergedObject(withoutField(l.xr, "status"), doc)
}

// observe returns a rendered resource as the next pass observes it. before is the observed
// resource of the original request that has the same name in the pipeline, or nil.
func (l *passLoop) observe(before map[string]any, rendered *unstructured.Unstructured, name string, pass int) *unstructured.Unstructured {
	for i, f := range l.fixtures {
		if f.From <= pass && f.Match.selects(rendered, name) {
			before = f.apply(before)
			l.used[i] = true
		}
	}
	return &unstructured.Unstructured{Object: mergedObject(before, withoutField(rendered.Object, "status"))}
}

// keepSecrets adds observed Secrets that are not desired to the required
// resources. Providers write such Secrets. Functions can then require them and
// read connection details, but do not observe them.
func (l *passLoop) keepSecrets(desired []*unstructured.Unstructured) {
	for _, o := range l.given {
		if o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && !slices.Contains(desired, o) {
			l.req.Required = slices.Concat(l.req.Required, reconciler.Store{o})
		}
	}
}

// byReference compares two resources by their order in the references of a
// composite resource.
func (l *passLoop) byReference(a, b *unstructured.Unstructured) int {
	key := func(u *unstructured.Unstructured) string {
		s := u.GetAPIVersion() + u.GetKind() + u.GetName()
		if l.req.XR.GetNamespace() == "" {
			s += u.GetNamespace()
		}
		return s
	}
	return cmp.Compare(key(a), key(b))
}

// mergedObject returns a merged with b. Objects are merged recursively; any other value
// of b replaces the value of a. Neither a nor b is changed.
func mergedObject(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = make(map[string]any, len(b))
	}
	for k, v := range b {
		below, isObject := out[k].(map[string]any)
		if over, ok := v.(map[string]any); ok && isObject {
			v = mergedObject(below, over)
		}
		out[k] = v
	}
	return out
}

func withoutField(m map[string]any, key string) map[string]any {
	out := mergedObject(nil, m)
	delete(out, key)
	return out
}

// changedFields returns the fields in which the results of two passes differ, in the
// format of LastPass.Changing.
func changedFields(before, after *render.Result) []string {
	var found []string
	add := func(what string, before, after map[string]any) {
		for _, c := range (fieldpath.Differ{Whole: true, SameLength: true}).Diff(before, after) {
			found = append(found, what+": "+c.Path)
		}
	}
	add("composite resource", before.XR, after.XR)
	was, is := reconciler.ComposedByName(before.Composed), reconciler.ComposedByName(after.Composed)
	for name, doc := range was {
		if other, ok := is[name]; ok {
			add(fmt.Sprintf("resource %q", name), doc, other)
		}
	}
	onlyIn := func(a, b map[string]map[string]any) {
		for name := range a {
			if b[name] == nil {
				found = append(found, fmt.Sprintf("resource %q", name))
			}
		}
	}
	onlyIn(was, is)
	onlyIn(is, was)
	slices.Sort(found)
	return found
}
