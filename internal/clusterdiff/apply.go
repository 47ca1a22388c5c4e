package clusterdiff

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// apply returns what becomes of a live object if Crossplane applies desired to
// it, where it applied previous before: what desired has is set, what only
// previous had goes, and all else stays (Kubernetes, "Server-Side Apply"). None
// is changed; previous may be nil.
//
// Which lists an API server merges, only schemas know. Here those are, by name,
// whose items are all objects with names of their own, and those of objects with
// as many items as live, by index, if desired says nothing of some fields. All
// others are replaced.
func apply(live, desired, previous map[string]any) map[string]any {
	after := runtime.DeepCopyJSON(live)
	if previous != nil {
		prune(after, desired, previous)
	}
	merge(after, desired)
	return after
}

// prune removes what previous has and desired has not, but for the objects
// around it that hold anything else.
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
		return mergedList(l, d)
	default:
		return desired
	}
}

func mergedList(live, desired []any) []any {
	if names := byName(desired); names != nil && byName(live) != nil {
		return mergeByName(live, desired)
	}
	if len(live) != len(desired) || !within(desired, live) {
		return runtime.DeepCopyJSONValue(desired).([]any)
	}
	return live
}

func mergeByName(live, desired []any) []any {
	now := byName(live)
	for _, item := range desired {
		object := item.(map[string]any)
		if own := now[object["name"].(string)]; own != nil {
			merge(own, object)
		} else {
			live = append(live, runtime.DeepCopyJSON(object))
		}
	}
	return live
}

// byName returns the items of a list whose items are all objects with names of
// their own, else nil.
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

// within reports whether live has all that desired has.
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
		if !ok || len(l) != len(d) {
			return false
		}
		for i := range d {
			if !within(d[i], l[i]) {
				return false
			}
		}
		return true
	default:
		return fieldpath.Equal(desired, live)
	}
}
