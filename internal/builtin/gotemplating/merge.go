package gotemplating

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

// unshare returns srcs, the sources of a merge into dst. It copies a source that
// shares a map with dst or with an earlier source. Otherwise, Sprig could make
// this map contain itself.
func unshare(dst map[string]any, srcs []map[string]any) []map[string]any {
	seen := map[uintptr]bool{}
	shares(dst, seen)
	own := make([]map[string]any, len(srcs))
	for i, src := range srcs {
		own[i] = src
		if shares(src, seen) {
			own[i] = clone(src).(map[string]any)
		}
	}
	return own
}

var errContainsItself = errors.New("the value would contain itself")

// contains reports whether v is the map dict or contains it.
func contains(v any, dict map[string]any) bool {
	seen := map[uintptr]bool{}
	shares(v, seen)
	return seen[reflect.ValueOf(dict).Pointer()]
}

// shares adds the maps in v to seen. It reports whether seen already had one of them, or v
// has the same map twice. It does not recurse, because v may be deeply nested.
func shares(v any, seen map[uintptr]bool) bool {
	shared := false
	lists := map[*any]int{} // the length of each visited list, by the address of its first element
	todo := []any{v}
	isNew := func(m any) bool {
		at := reflect.ValueOf(m).Pointer()
		again := seen[at]
		seen[at] = true
		shared = shared || again
		return !again
	}
	for len(todo) > 0 {
		last := len(todo) - 1
		v, todo = todo[last], todo[:last]
		switch v := v.(type) {
		case map[string]any:
			if v != nil && isNew(v) {
				todo = slices.AppendSeq(todo, maps.Values(v))
			}
		case map[any]any: // the type of a map from fromYaml whose keys are not all strings
			if v != nil && isNew(v) {
				todo = slices.AppendSeq(todo, maps.Values(v))
			}
		case []any:
			if len(v) == 0 {
				continue
			}
			if lists[&v[0]] >= len(v) {
				shared = true
				continue
			}
			lists[&v[0]] = len(v)
			todo = append(todo, v...)
		}
	}
	return shared
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case map[any]any:
		return cloneMap(v)
	case []any:
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = clone(element)
		}
		return c
	default:
		return v
	}
}

func cloneMap[K comparable](m map[K]any) map[K]any {
	c := make(map[K]any, len(m))
	for key, element := range m {
		c[key] = clone(element)
	}
	return c
}
