package limit

import "reflect"

// merging returns a merge function of sprig that cannot make a map hold itself.
// A source that shares a map with what was merged before it is copied: else the
// merge could put that map into itself, and then walk it without end.
func merging[R any](merge func(dst map[string]any, srcs ...map[string]any) R) func(map[string]any, ...map[string]any) R {
	return func(dst map[string]any, srcs ...map[string]any) R {
		return merge(dst, apart(dst, srcs)...)
	}
}

// mustMerging is merging for functions that may fail.
func mustMerging(merge func(dst map[string]any, srcs ...map[string]any) (any, error)) func(map[string]any, ...map[string]any) (any, error) {
	return func(dst map[string]any, srcs ...map[string]any) (any, error) {
		return merge(dst, apart(dst, srcs)...)
	}
}

// apart returns the sources, with copies of those that share a map with dst or
// with one another.
func apart(dst map[string]any, srcs []map[string]any) []map[string]any {
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

// shares reports whether v holds a map that was seen, and sees all that it holds.
func shares(v any, seen map[uintptr]bool) bool {
	shared := false
	switch v := v.(type) {
	case map[string]any:
		return sharesMap(v, seen)
	case map[any]any: // of YAML
		return sharesMap(v, seen)
	case []any:
		for _, element := range v {
			shared = shares(element, seen) || shared
		}
	}
	return shared
}

func sharesMap[K comparable](m map[K]any, seen map[uintptr]bool) bool {
	at := reflect.ValueOf(m).Pointer()
	if m == nil || seen[at] {
		return m != nil
	}
	seen[at] = true
	shared := false
	for _, element := range m {
		shared = shares(element, seen) || shared
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
