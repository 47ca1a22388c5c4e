package fieldpath

import (
	"maps"
	"strings"
)

// At returns the value at a path of keys in nested objects, or nil if there is none.
func At(v any, keys ...string) any {
	for _, key := range keys {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

// Map returns the object at a path of keys, or nil if there is none.
func Map(v any, keys ...string) map[string]any {
	object, _ := At(v, keys...).(map[string]any)
	return object
}

// List returns the list at a path of keys, or nil if there is none.
func List(v any, keys ...string) []any {
	list, _ := At(v, keys...).([]any)
	return list
}

// Text returns the string at a path of keys, or "" if there is none.
func Text(v any, keys ...string) string {
	text, _ := At(v, keys...).(string)
	return text
}

// Texts returns the entries of the object at a path of keys whose values are strings.
func Texts(v any, keys ...string) map[string]string {
	all := map[string]string{}
	for key, value := range Map(v, keys...) {
		if text, ok := value.(string); ok {
			all[key] = text
		}
	}
	return all
}

// Join returns the path of the field key of the object at path, with quotes if necessary.
func Join(path, key string) string {
	return strings.TrimPrefix(string(appendKey([]byte(path), key, false)), ".")
}

// HasPrefix reports whether path is parent or the path of a field or element in it.
func HasPrefix(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Merge merges src into dst, and returns dst. Objects are merged key by key; other values are
// replaced. It returns src if dst is nil.
func Merge(dst, src map[string]any) map[string]any {
	if dst == nil {
		return src
	}
	for key, v := range src {
		into, exists := dst[key].(map[string]any)
		if from, ok := v.(map[string]any); ok && exists {
			v = Merge(into, from)
		}
		dst[key] = v
	}
	return dst
}

// MergePatch returns a copy of value to which a JSON merge patch (RFC 7386) was applied. The copy
// shares what the patch does not change, and the values of the patch.
func MergePatch(value, patch any) any {
	with, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	from, _ := value.(map[string]any)
	to := make(map[string]any, len(from)+len(with))
	maps.Copy(to, from)
	for key, v := range with {
		if v == nil {
			delete(to, key)
		} else {
			to[key] = MergePatch(to[key], v)
		}
	}
	return to
}
