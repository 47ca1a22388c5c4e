package converge

import (
	"fmt"
	"slices"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/render"
)

// changes returns the fields in which two passes differ, as in Result.Changing.
func changes(before, after *render.Result) []string {
	var found []string
	add := func(what string, before, after map[string]any) {
		for _, c := range (fieldpath.Differ{Whole: true, SameLength: true}).Diff(before, after) {
			found = append(found, what+": "+c.Path)
		}
	}
	add("composite resource", before.XR, after.XR)
	was, is := byName(before.Composed), byName(after.Composed)
	for name, doc := range was {
		if other, ok := is[name]; ok {
			add(fmt.Sprintf("resource %q", name), doc, other)
		} else {
			found = append(found, fmt.Sprintf("resource %q", name))
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			found = append(found, fmt.Sprintf("resource %q", name))
		}
	}
	slices.Sort(found)
	return found
}

func byName(docs []map[string]any) map[string]map[string]any {
	m := make(map[string]map[string]any, len(docs))
	for _, doc := range docs {
		m[reconciler.ResourceName(doc)] = doc
	}
	return m
}
