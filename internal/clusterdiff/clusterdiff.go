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
	// Changes are the changes of composed resources. Unchanged is the
	// number of composed resources without changes.
	Changes   []report.DocDiff `json:"changes"`
	Unchanged int              `json:"unchanged"`
	// Err is the error of the render, and Error is its text.
	Err   error  `json:"-"`
	Error string `json:"error,omitempty"`
}

// Compute renders the XRs of a cluster dump with the Compositions of in, and
// calls each with the changes of one XR at a time. It also renders them with
// the old Compositions, at the paths before or, by default, in the dump: a
// field that only these set is shown as removed. If the old Compositions cannot
// be rendered, Compute warns.
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
		object, _ = r.Document.Object() // An XR that another XR composes has no document.
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

// resources returns the composed resources of an XR: live, as in the cluster,
// and after, as they would be after the render is applied.
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

// applicable returns the part of a resource that Crossplane applies: no status,
// and only these fields of metadata.
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

// identity returns a unique key of an XR.
func identity(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	return fmt.Sprintf("%s\x00%s\x00%s", u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName())
}

// apply returns the object live after a server-side apply of desired. previous
// is what the same field manager applied before, or nil. The fields in desired
// are set, fields that only previous has are removed, and all other fields are
// kept.
//
// Without a schema, it is unknown which lists a server-side apply merges. Lists
// of objects with unique names are merged by name, a list that already has all
// fields of desired is kept, and any other list is replaced.
func apply(live, desired, previous map[string]any) map[string]any {
	after := runtime.DeepCopyJSON(live)
	if previous != nil {
		prune(after, desired, previous)
	}
	merge(after, desired)
	return after
}

// prune removes from live the fields that previous has and desired does not
// have. An object that keeps other fields is not removed.
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

// pruneList prunes lists that are merged by name. The bool is false for others.
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

// merged returns a value after desired is applied to it. It changes live.
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

// byName returns the items of a list of objects that have unique names, by
// name. For any other value, it returns nil.
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
