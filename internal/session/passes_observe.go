package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/render"
)

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
		if o := existing[name]; o != nil && isSameResource(o, rendered) {
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

// isSameResource reports whether a rendered resource is the observed one: it has the same kind and
// name. Otherwise, it is a new resource, although its name in the pipeline is the same.
func isSameResource(observed, rendered *unstructured.Unstructured) bool {
	return observed.GroupVersionKind().GroupKind() == rendered.GroupVersionKind().GroupKind() &&
		observed.GetName() == rendered.GetName()
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
