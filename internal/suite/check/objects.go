package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

func (r *run) objects(want []map[string]any) {
	for i, w := range want {
		path := []string{"expect", "objects", fmt.Sprintf("[%d]", i)}
		got := r.candidate(w)
		if got == nil {
			u := unstructured.Unstructured{Object: w}
			if u.GetKind() == "" || u.GetAPIVersion() == "" {
				r.failf(path, "the object must have an apiVersion and a kind")
				continue
			}
			r.failf(path, "there is no %s of apiVersion %s%s%s", describeKind(&u), u.GetAPIVersion(), annotated(&u), r.sameKind(&u))
			continue
		}
		if _, ok, _ := unstructured.NestedFieldNoCopy(w, "metadata", "ownerReferences"); !ok {
			got = maps.Clone(got)
			if metadata, ok := got["metadata"].(map[string]any); ok {
				metadata = maps.Clone(metadata)
				delete(metadata, "ownerReferences")
				got["metadata"] = metadata
			}
		}
		o := objectCheck{run: r, path: path, what: kindAndName(got)}
		if fieldpath.Text(got, "apiVersion") != reconciler.APIVersion {
			o.resource, o.traced = r.subject.name(got), true
		}
		o.compare("", w, got)
	}
}

func describeKind(u *unstructured.Unstructured) string {
	if u.GetName() == "" {
		return u.GetKind()
	}
	return fmt.Sprintf("%s %q", u.GetKind(), u.GetName())
}

func annotated(u *unstructured.Unstructured) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(u.GetAnnotations())) {
		all = append(all, key+": "+u.GetAnnotations()[key])
	}
	if len(all) == 0 {
		return ""
	}
	return " with the annotations " + strings.Join(all, ", ")
}

func (r *run) sameKind(u *unstructured.Unstructured) string {
	var names []string
	for _, doc := range r.subject.Documents {
		if fieldpath.Text(doc, "kind") == u.GetKind() {
			names = append(names, fmt.Sprintf("%s (%s)", kindAndName(doc), fieldpath.Text(doc, "apiVersion")))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", only " + list(names)
}

func (r *run) candidate(want map[string]any) map[string]any {
	w := unstructured.Unstructured{Object: want}
	i := slices.IndexFunc(r.subject.Documents, func(doc map[string]any) bool {
		d := unstructured.Unstructured{Object: doc}
		if d.GetAPIVersion() != w.GetAPIVersion() || d.GetKind() != w.GetKind() || w.GetName() != "" && d.GetName() != w.GetName() {
			return false
		}
		has := d.GetAnnotations()
		for key, v := range w.GetAnnotations() {
			if got, ok := has[key]; !ok || got != v {
				return false
			}
		}
		return true
	})
	if i < 0 {
		return nil
	}
	return r.subject.Documents[i]
}

// An objectCheck compares an expected object with a document.
type objectCheck struct {
	*run
	path []string
	// what names the document in messages. resource is its name in the pipeline. traced is true if
	// steps can set its fields.
	what, resource string
	traced         bool
}

// in returns the check of a key or an index in the expected object.
func (o objectCheck) in(key string) objectCheck {
	o.path = append(slices.Clone(o.path), key)
	return o
}

func (o objectCheck) wrong(at, format string, args ...any) {
	step := ""
	if o.traced {
		step = o.subject.step(o.resource, at)
	}
	name := cmp.Or(at, "the object")
	text := fmt.Sprintf("%s: %s: ", o.what, name) + fmt.Sprintf(format, args...)
	o.fail(Failure{Path: o.path, Resource: o.resource, Field: at, Step: step, Text: text})
}

// compare compares the value at a path with the expected one.
func (o objectCheck) compare(at string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		o.compareMap(at, want, got)
	case []any:
		l, ok := got.([]any)
		switch {
		case !ok:
			o.wrong(at, "want a list, got %s", show(got))
		case len(l) != len(want):
			o.wrong(at, "want a list of %d elements, got %d: %s", len(want), len(l), show(l))
		default:
			for i := range want {
				index := fmt.Sprintf("[%d]", i)
				o.in(index).compare(at+index, want[i], l[i])
			}
		}
	default:
		if !same(want, got) {
			o.wrong(at, "want %s, got %s", show(want), show(got))
		}
	}
}

// compareMap compares the value at a path with an expected object. As in assertion trees of
// kyverno-json, an object without fields expects any value but null.
func (o objectCheck) compareMap(at string, want map[string]any, got any) {
	m, ok := got.(map[string]any)
	switch {
	case len(want) == 0 && got != nil:
		return
	case len(want) == 0:
		o.wrong(at, "want any value but null")
		return
	case !ok:
		o.wrong(at, "want an object, got %s", show(got))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		field := fieldpath.Path{{Key: key}}.String()
		if at != "" {
			field = below(at, field)
		}
		v, ok := m[key]
		switch {
		case ok && v == nil:
			o.in(key).wrong(field, "the field is null, which counts as absent")
		case !ok:
			o.in(key).wrong(field, "there is no such field%s", suggestNames("it", key, slices.Sorted(maps.Keys(m))))
		default:
			o.in(key).compare(field, want[key], v)
		}
	}
}
