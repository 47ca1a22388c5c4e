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

	"github.com/xfn-dev/xfn/internal/hint"
)

// checkLost fails if a field of the document is not in out, the JSON that its
// type makes of it. Most are fields that the type lacks, which are known by
// name; the others got lost in parts of the type that decode themselves.
func (d decoded) checkLost(unknown []error, out []byte) error {
	var data any
	if err := json.Unmarshal(out, &data); err != nil {
		return fault(d.doc, d.Line, fmt.Errorf("decoding it: %w", err))
	}
	path := lost("", d.data, data)
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			path = field.FieldPath()
			break
		}
	}
	if path == "" {
		return nil
	}
	err := fault(d.doc, d.doc.Lines().Of(path), fmt.Errorf("kind %s of %s has no field %s, so it would be lost", d.Kind, d.APIVersion, path))
	return hint.Wrap(err, "correct the field's name or remove it")
}

// lost returns the path of a field of in that is not in out, or "". Empty
// values may be missing.
func lost(path string, in, out any) string {
	switch in := in.(type) {
	case map[string]any:
		got, ok := out.(map[string]any)
		if !ok {
			return ""
		}
		for _, key := range slices.Sorted(maps.Keys(in)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			value, ok := got[key]
			if !ok && !empty(in[key]) {
				return at
			}
			if p := lost(at, in[key], value); p != "" {
				return p
			}
		}
	case []any:
		got, ok := out.([]any)
		if !ok {
			return ""
		}
		for i := range min(len(in), len(got)) {
			if p := lost(fmt.Sprintf("%s[%d]", path, i), in[i], got[i]); p != "" {
				return p
			}
		}
	}
	return ""
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

// typeFault says which field holds a value of the wrong type, in the words of
// YAML: the decoder's error is full of Go types.
func (d decoded) typeFault(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return fault(d.doc, d.Line, errors.New(strings.TrimPrefix(err.Error(), "json: ")))
	}
	// Names of embedded Go structs stand between those of fields.
	parts := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool {
		return p != "" && unicode.IsUpper(rune(p[0]))
	})
	path := strings.Join(parts, ".")
	value, _, _ := strings.Cut(t.Value, " ")
	return fault(d.doc, d.doc.Lines().Of(path), fmt.Errorf("%s: expected %s, got %s", path, wanted(t.Type), article(value)))
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
