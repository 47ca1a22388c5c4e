package check

import (
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
		o := place{run: r, path: path, what: kindAndName(got), unset: true}
		if fieldpath.Text(got, "apiVersion") != reconciler.APIVersion {
			o.resource, o.unset = r.subject.name(got), false
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

func (p place) compare(at string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		p.compareMap(at, want, got)
	case []any:
		l, ok := got.([]any)
		switch {
		case !ok:
			p.wrong(at, at, "want a list, got %s", show(got))
		case len(l) != len(want):
			p.wrong(at, at, "want a list of %d elements, got %d: %s", len(want), len(l), show(l))
		default:
			for i := range want {
				index := fmt.Sprintf("[%d]", i)
				p.in(index).compare(at+index, want[i], l[i])
			}
		}
	default:
		if !same(want, got) {
			p.wrong(at, at, "want %s, got %s", show(want), show(got))
		}
	}
}

// compareMap compares the value at a path with an expected object. As in assertion trees of
// kyverno-json, an object without fields expects any value but null.
func (p place) compareMap(at string, want map[string]any, got any) {
	m, ok := got.(map[string]any)
	switch {
	case len(want) == 0 && got != nil:
		return
	case len(want) == 0:
		p.wrong(at, at, "want any value but null")
		return
	case !ok:
		p.wrong(at, at, "want an object, got %s", show(got))
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
			p.in(key).wrong(field, field, "the field is null, which counts as absent")
		case !ok:
			p.in(key).wrong(field, field, "there is no such field%s", suggestNames("it", key, slices.Sorted(maps.Keys(m))))
		default:
			p.in(key).compare(field, want[key], v)
		}
	}
}
