package clusterdiff

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// A Diff is the effect of changed Compositions on one composite resource.
type Diff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Composition is the name of the composite resource's Composition.
	Composition string `json:"composition,omitempty"`
	// Pinned is true if the XR's compositionUpdatePolicy is Manual.
	Pinned bool `json:"pinned,omitempty"`
	// Changes are the changes to composed resources. Unchanged is the number of
	// composed resources that do not change.
	Changes   []report.DocDiff `json:"changes"`
	Unchanged int              `json:"unchanged"`
	// Err is the error of the render, or nil. Error is its text.
	Err   error  `json:"-"`
	Error string `json:"error,omitempty"`
}

// Compute renders the XRs of a cluster dump with the Compositions of in. It calls
// each for one XR at a time, with the changes of its composed resources.
//
// Compute also renders the XRs with the old Compositions. They are at the paths before or,
// if there are none, in the dump. A field that only an old Composition sets is reported as
// removed. If the old Compositions cannot be rendered, Compute warns.
func Compute(ctx context.Context, s *session.Session, in session.Inputs, before []string, warn progress.Func, each func(Diff) error) error {
	in.Live, in.Full = true, true
	was := in
	was.Compositions, was.Composition = before, ""
	if len(before) == 0 {
		was.Compositions = in.Observed
	}
	previous := map[string]map[string]map[string]any{}
	err := s.Render(ctx, was, func(r session.Result) error {
		if r.Err == nil {
			previous[identity(r.XR)] = reconciler.ComposedByName(r.Composed)
		}
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		warn.Warn(fmt.Sprintf("rendering with the old Compositions: %v; fields that only the old Compositions set are not shown as removed", err))
	}
	return s.Render(ctx, in, func(r session.Result) error { return each(diffOf(r, previous)) })
}

func diffOf(r session.Result, previous map[string]map[string]map[string]any) Diff {
	i := Diff{Name: r.Source, Changes: []report.DocDiff{}, Err: r.Err}
	var object map[string]any
	if r.Err == nil {
		object = r.XR
	} else {
		i.Error = r.Err.Error()
		object, _ = r.Document.Object() // an XR that another XR composes has no document
	}
	if object != nil {
		xr := unstructured.Unstructured{Object: object}
		i.APIVersion, i.Kind, i.Namespace, i.Name = xr.GetAPIVersion(), xr.GetKind(), xr.GetNamespace(), xr.GetName()
	}
	if r.Err != nil {
		return i
	}
	for _, spec := range [][]string{{"spec", "crossplane"}, {"spec"}} {
		fields, _, _ := unstructured.NestedMap(r.XR, spec...)
		if name, _, _ := unstructured.NestedString(fields, "compositionRef", "name"); name != "" {
			i.Composition = name
		}
		i.Pinned = i.Pinned || fields["compositionUpdatePolicy"] == "Manual"
	}
	live, after := resources(r, previous[identity(r.XR)])
	i.Changes, i.Unchanged = append(i.Changes, report.Compare(live, after)...), len(after)
	for _, c := range i.Changes {
		if c.Op != report.Removed {
			i.Unchanged--
		}
	}
	return i
}

// resources returns the composed resources of an XR: live has their current state
// in the cluster, and after their state after the render is applied.
func resources(r session.Result, previous map[string]map[string]any) (live, after []map[string]any) {
	desired := reconciler.ComposedByName(r.Composed)
	now := map[string]map[string]any{}
	for _, o := range r.Observed {
		name := reconciler.ResourceName(o.Object)
		if now[name] = o.Object; desired[name] == nil {
			live = append(live, applicable(o.Object, "name", "namespace", "labels", "annotations"))
			continue
		}
		live = append(live, o.Object)
	}
	for _, d := range r.Composed {
		name := reconciler.ResourceName(d)
		if now[name] == nil {
			after = append(after, applicable(d, "name", "generateName", "namespace", "labels", "annotations"))
			continue
		}
		after = append(after, apply(now[name], applicable(d, "labels", "annotations"), applicable(previous[name], "labels", "annotations")))
	}
	return live, after
}

// applicable returns the part of a resource that Crossplane applies. It has no
// status, and of metadata only the given fields.
func applicable(resource map[string]any, metadata ...string) map[string]any {
	out := maps.Clone(resource)
	delete(out, "status")
	if all, ok := out["metadata"].(map[string]any); ok {
		kept := maps.Clone(all)
		maps.DeleteFunc(kept, func(field string, _ any) bool { return !slices.Contains(metadata, field) })
		out["metadata"] = kept
	}
	return out
}

// identity returns a unique key of an XR: its group, kind, namespace and name.
func identity(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	return fmt.Sprintf("%s\x00%s\x00%s", u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName())
}

// apply returns the object live after a server-side apply of desired. previous is the
// object that the same field manager applied before, or nil. The fields in desired are set.
// The fields in previous that are not in desired are removed. All other fields are kept.
//
// Without a schema, apply cannot know which lists a server-side apply merges. It
// merges lists of objects with unique names by name. It keeps a list that already
// has all values of the desired list, and replaces any other list.
func apply(live, desired, previous map[string]any) map[string]any {
	after := runtime.DeepCopyJSON(live)
	if previous != nil {
		prune(after, desired, previous)
	}
	merge(after, desired)
	return after
}

// prune removes from live the fields that previous has and desired does not have.
// It keeps an object that still has other fields.
func prune(live, desired, previous map[string]any) {
	for k, was := range previous {
		is, stays := desired[k]
		now, there := live[k]
		if !there {
			continue
		}
		wasObject, _ := was.(map[string]any)
		nowObject, _ := now.(map[string]any)
		isObject, _ := is.(map[string]any)
		switch {
		case wasObject != nil && nowObject != nil && (!stays || isObject != nil):
			prune(nowObject, isObject, wasObject)
			if !stays && len(nowObject) == 0 {
				delete(live, k)
			}
		case !stays:
			delete(live, k)
		default:
			if items, ok := pruneList(now, is, was); ok {
				live[k] = items
			}
		}
	}
}

// pruneList prunes the elements of a list that is merged by name. For any other
// list, it returns false.
func pruneList(live, desired, previous any) ([]any, bool) {
	now, is, was := byName(live), byName(desired), byName(previous)
	if now == nil || is == nil || was == nil {
		return nil, false
	}
	var kept []any
	for _, item := range live.([]any) {
		object := item.(map[string]any)
		name := object["name"].(string)
		if was[name] != nil && is[name] == nil {
			continue
		}
		if was[name] != nil {
			prune(object, is[name], was[name])
		}
		kept = append(kept, object)
	}
	return kept, true
}

func merge(live, desired map[string]any) {
	for k, v := range desired {
		live[k] = merged(live[k], v)
	}
}

// merged returns the value live after desired is applied to it. It changes live.
func merged(live, desired any) any {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return runtime.DeepCopyJSON(d)
		}
		merge(l, d)
		return l
	case []any:
		l, _ := live.([]any)
		if now := byName(live); now != nil && byName(desired) != nil {
			for _, item := range d {
				object := item.(map[string]any)
				if own := now[object["name"].(string)]; own != nil {
					merge(own, object)
				} else {
					l = append(l, runtime.DeepCopyJSON(object))
				}
			}
			return l
		}
		if within(desired, live) {
			return live
		}
		return runtime.DeepCopyJSONValue(desired)
	default:
		return desired
	}
}

// byName returns the items of a list of objects by their field name. It returns
// nil if v is not such a list, or if the names are not unique.
func byName(v any) map[string]map[string]any {
	list, _ := v.([]any)
	names := make(map[string]map[string]any, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		if name == "" || names[name] != nil {
			return nil
		}
		names[name] = object
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// within reports whether live has all values of desired.
func within(desired, live any) bool {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for k, v := range d {
			if !ok || !within(v, l[k]) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := live.([]any)
		return ok && slices.EqualFunc(d, l, within)
	default:
		return fieldpath.Equal(desired, live)
	}
}
