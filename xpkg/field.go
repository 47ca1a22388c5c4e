package xpkg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	kjson "sigs.k8s.io/json"
)

// lostFields returns the fields of the document that are missing in out, the JSON
// of its Go type: unknown fields, and those that types with their own decoder drop.
func (d decoded) lostFields(unknown []error, out []byte) Problems {
	var kept any
	if err := json.Unmarshal(out, &kept); err != nil {
		return Problems{d.refused("syntax", "decoding it: "+err.Error(), "")}
	}
	paths := map[string]bool{}
	lost("", d.data, kept, paths)
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			paths[field.FieldPath()] = true
		}
	}
	f := finder{doc: d.doc}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		f.add("unknown-field", path, "correct the field's name or remove it", "kind %s of %s has no field %s, so it would be lost", d.Kind, d.APIVersion, path)
	}
	return f.found
}

// lost adds to paths each field of in that is not in out. Empty values may be
// missing.
func lost(path string, in, out any, paths map[string]bool) {
	switch in := in.(type) {
	case map[string]any:
		got, ok := out.(map[string]any)
		if !ok {
			return
		}
		for key, from := range in {
			at := strings.TrimPrefix(path+"."+key, ".")
			value, ok := got[key]
			if !ok && !empty(from) {
				paths[at] = true
				continue
			}
			lost(at, from, value, paths)
		}
	case []any:
		got, _ := out.([]any)
		for i := range min(len(in), len(got)) {
			lost(fmt.Sprintf("%s[%d]", path, i), in[i], got[i], paths)
		}
	}
}

// empty reports whether v is a zero value or has only empty values.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, value := range v {
			if !empty(value) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	default:
		return reflect.ValueOf(v).IsZero()
	}
}

// wrongType returns the problem of a field that has another type than its kind, in
// the words of YAML and not of Go.
func (d decoded) wrongType(err error) Problem {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return d.refused("wrong-type", strings.TrimPrefix(err.Error(), "json: "), "")
	}
	// The path has the names of embedded Go structs, too.
	parts := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool {
		return p != "" && unicode.IsUpper(rune(p[0]))
	})
	path := strings.Join(parts, ".")
	want := t.Type
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	value, _, _ := strings.Cut(t.Value, " ")
	p := d.refused("wrong-type", fmt.Sprintf("%s: expected %s, got %s", path, article(want.Kind().String()), article(value)), "")
	p.Line = d.doc.Lines().Of(path)
	return p
}

// article returns the YAML name of a kind of Go or JSON values.
func article(kind string) string {
	switch kind {
	case "object", "struct", "map":
		return "an object"
	case "array", "slice":
		return "a list"
	case "bool":
		return "a boolean"
	case "string":
		return "a string"
	default:
		return "a number"
	}
}
