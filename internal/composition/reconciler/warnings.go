package reconciler

import (
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// warnings describes changes by a step that Crossplane ignores or that may be
// mistakes: to spec or metadata of the composite resource, to the status of a
// composed one, and desired resources that it removes.
func warnings(step string, observed, before, after *fnv1.State) []string {
	var ws []string
	warn := func(format string, args ...any) {
		ws = append(ws, fmt.Sprintf("pipeline step %q ", step)+fmt.Sprintf(format, args...))
	}
	for _, field := range []string{"metadata", "spec"} {
		if isNew(field, after.GetComposite(), before.GetComposite(), observed.GetComposite()) {
			warn("desires %s of the composite resource, but functions can only change its status", field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.GetResources())) {
		if isNew("status", after.GetResources()[name], before.GetResources()[name]) {
			warn("desires status of composed resource %q, but only its provider can set it", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.GetResources())) {
		if after.GetResources()[name] == nil {
			warn("leaves out composed resource %q, which an earlier step desires", name)
		}
	}
	return ws
}

// isNew reports whether r has a value in a field that none of the others has.
func isNew(field string, r *fnv1.Resource, others ...*fnv1.Resource) bool {
	v, ok := r.GetResource().GetFields()[field]
	if !ok || len(v.GetStructValue().GetFields()) == 0 {
		return false
	}
	return !slices.ContainsFunc(others, func(o *fnv1.Resource) bool {
		return within(v, o.GetResource().GetFields()[field])
	})
}

// within reports whether b contains all of a.
func within(a, b *structpb.Value) bool {
	fields := a.GetStructValue().GetFields()
	if fields == nil {
		return proto.Equal(a, b)
	}
	for key, v := range fields {
		if !within(v, b.GetStructValue().GetFields()[key]) {
			return false
		}
	}
	return true
}
