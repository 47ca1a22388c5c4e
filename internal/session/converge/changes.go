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
