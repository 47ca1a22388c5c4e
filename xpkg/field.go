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

// lostFields returns the fields of the document that are not in out, the JSON
// that its type makes of it. Most are fields that the type lacks, which are
// known by name; the others got lost in parts of the type that decode
// themselves.
func (d decoded) lostFields(unknown []error, out []byte) Problems {
	var kept any
	if err := json.Unmarshal(out, &kept); err != nil {
		return Problems{d.refused("syntax", "decoding it: "+err.Error(), "")}
	}
	paths := map[string]bool{}
	lost("", d.data, kept, func(path string) { paths[path] = true })
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			paths[field.FieldPath()] = true
		}
	}
	if len(paths) == 0 {
		return nil
	}
	lines := d.doc.Lines()
	found := make(Problems, 0, len(paths))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		found = append(found, Problem{
			Rule: "unknown-field", Path: d.Path, Line: lines.Of(path),
			Text: fmt.Sprintf("kind %s of %s has no field %s, so it would be lost", d.Kind, d.APIVersion, path),
			Hint: "correct the field's name or remove it",
		})
	}
	return found
}

// lost calls found with the path of each field of in that is not in out. Empty
// values may be missing.
func lost(path string, in, out any, found func(path string)) {
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
				found(at)
				continue
			}
			lost(at, from, value, found)
		}
	case []any:
		got, ok := out.([]any)
		if !ok {
			return
		}
		for i := range min(len(in), len(got)) {
			lost(fmt.Sprintf("%s[%d]", path, i), in[i], got[i], found)
		}
	}
}

// empty reports whether v is a zero value, or holds nothing else.
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

// wrongType says which field holds a value of the wrong type, in the words of
// YAML: the decoder's error is full of Go types.
func (d decoded) wrongType(err error) Problem {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return d.refused("wrong-type", strings.TrimPrefix(err.Error(), "json: "), "")
	}
	// Names of embedded Go structs stand between those of fields.
	parts := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool {
		return p != "" && unicode.IsUpper(rune(p[0]))
	})
	path := strings.Join(parts, ".")
	value, _, _ := strings.Cut(t.Value, " ")
	p := d.refused("wrong-type", fmt.Sprintf("%s: expected %s, got %s", path, wanted(t.Type), article(value)), "")
	p.Line = d.doc.Lines().Of(path)
	return p
}

func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	default:
		return "a number"
	}
}

func article(jsonType string) string {
	switch jsonType {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "bool":
		return "a boolean"
	default:
		return "a " + jsonType
	}
}
