package converge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/render"
)

// A loop is the state between two passes.
type loop struct {
	// req is the request of the next pass.
	req      render.Request
	fixtures []Fixture
	used     []bool
	// xr is the user's composite resource. given are the user's observed
	// resources, without those that a pass deleted.
	xr    map[string]any
	given []*unstructured.Unstructured
}

// feed prepares the request of the next pass from the result of this one.
func (l *loop) feed(r *render.Result, pass int) {
	existing := reconciler.ByName(l.given)
	l.req.Observed = make([]*unstructured.Unstructured, len(r.Composed))
	var kept []*unstructured.Unstructured
	for i, doc := range r.Composed {
		rendered := &unstructured.Unstructured{Object: doc}
		name := rendered.GetAnnotations()[reconciler.AnnotationResourceName]
		var before map[string]any
		if o := existing[name]; o != nil && isSame(o, rendered) {
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

// reconciles reports whether the profile is V2. Only in V2 do functions observe
// the fields of the composite resource that Crossplane writes.
func (l *loop) reconciles() bool { return l.req.Profile == "" || l.req.Profile == render.V2 }

// composite returns the composite resource after a pass that rendered doc: the
// user's, merged with doc. Of profiles other than V2 only the status is merged.
func (l *loop) composite(doc map[string]any) map[string]any {
	if !l.reconciles() {
		doc = map[string]any{"status": doc["status"]}
		maps.DeleteFunc(doc, func(_ string, v any) bool { return v == nil })
	}
	return merged(without(l.xr, "status"), doc)
}

// isSame reports whether a rendered resource is the observed one. A resource of
// another kind with the same name is new.
func isSame(observed, rendered *unstructured.Unstructured) bool {
	return observed.GroupVersionKind().GroupKind() == rendered.GroupVersionKind().GroupKind() &&
		observed.GetName() == rendered.GetName()
}

// observe returns a rendered resource as it exists after a pass. before is the
// user's observed resource, or nil.
func (l *loop) observe(before map[string]any, rendered *unstructured.Unstructured, name string, pass int) *unstructured.Unstructured {
	for i, f := range l.fixtures {
		if f.From <= pass && f.Match.selects(rendered, name) {
			before = f.apply(before)
			l.used[i] = true
		}
	}
	return &unstructured.Unstructured{Object: merged(before, without(rendered.Object, "status"))}
}

// keepSecrets makes observed Secrets that are not desired available as required
// resources: functions can require them and get connection details from them,
// but do not observe them. Providers write such Secrets.
func (l *loop) keepSecrets(desired []*unstructured.Unstructured) {
	for _, o := range l.given {
		if o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && !slices.Contains(desired, o) {
			l.req.Required = slices.Concat(l.req.Required, reconciler.Store{o})
		}
	}
}

// byReference orders resources as in the references of a composite resource.
func (l *loop) byReference(a, b *unstructured.Unstructured) int {
	key := func(u *unstructured.Unstructured) string {
		s := u.GetAPIVersion() + u.GetKind() + u.GetName()
		if l.req.XR.GetNamespace() == "" {
			s += u.GetNamespace()
		}
		return s
	}
	return cmp.Compare(key(a), key(b))
}

// merged returns a with b merged into it: objects are merged, any other value
// of b replaces that of a. The arguments are not changed.
func merged(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = make(map[string]any, len(b))
	}
	for k, v := range b {
		below, isObject := out[k].(map[string]any)
		if over, ok := v.(map[string]any); ok && isObject {
			v = merged(below, over)
		}
		out[k] = v
	}
	return out
}

func without(m map[string]any, key string) map[string]any {
	out := merged(nil, m)
	delete(out, key)
	return out
}

// changes returns the fields in which two passes differ, as in Result.Changing.
func changes(before, after *render.Result) []string {
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
