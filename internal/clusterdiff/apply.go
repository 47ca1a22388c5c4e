package clusterdiff

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// apply returns a live object after a server-side apply of desired by an owner
// that applied previous before, which may be nil. Fields of desired are set,
// those that only previous has are removed, and others are kept.
//
// Only a schema says which lists are merged. Without one, lists of objects with
// unique names are merged by name, a list that already has all fields of
// desired is kept, and all others are replaced.
func apply(live, desired, previous map[string]any) map[string]any {
	after := runtime.DeepCopyJSON(live)
	if previous != nil {
		prune(after, desired, previous)
	}
	merge(after, desired)
	return after
}

// prune removes the fields of live that previous has and desired has not.
// Objects that have other fields are kept.
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

// pruneList prunes lists that are merged by name.
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

// byName returns the items of a list of objects with unique names, by name, or
// nil for any other value.
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
