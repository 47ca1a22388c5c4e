package gotemplating

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

// unshare returns srcs, the sources of a merge into dst. Sources that share a
// map with dst or another source are copied: Sprig could make the map contain
// itself.
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

// contains reports whether v is the dict or contains it.
func contains(v any, dict map[string]any) bool {
	seen := map[uintptr]bool{}
	shares(v, seen)
	return seen[reflect.ValueOf(dict).Pointer()]
}

// shares adds the maps in v to seen, and reports whether seen had one of them
// or v has one twice. It does not recurse, because v may be deeply nested.
func shares(v any, seen map[uintptr]bool) bool {
	shared := false
	lists := map[*any]int{} // length of each visited list, by the address of its first element
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
		case map[any]any: // as returned by fromYaml
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
