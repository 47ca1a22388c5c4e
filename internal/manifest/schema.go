package manifest

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Schemer returns the JSON Schema of its values.
type Schemer interface {
	JSONSchema() map[string]any
}

// JSONSchema returns the JSON Schema (draft 2020-12) of the values that
// DecodeStrict accepts for a type. Each struct type becomes a definition under
// its Go name, so these names must be unique.
func JSONSchema(t reflect.Type) map[string]any {
	s := schemer{defs: map[string]any{}}
	root := s.of(t)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$defs"] = s.defs
	return root
}

type schemer struct{ defs map[string]any }

func (s *schemer) of(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	v := reflect.New(t).Interface()
	if own, ok := v.(Schemer); ok {
		return own.JSONSchema()
	}
	if _, ok := v.(encoding.TextUnmarshaler); ok {
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		return s.reference(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	default:
		return map[string]any{"type": "string"}
	}
}

func (s *schemer) reference(t reflect.Type) map[string]any {
	if _, ok := s.defs[t.Name()]; !ok {
		s.defs[t.Name()] = nil // a type that contains itself is defined once
		s.defs[t.Name()] = s.definition(t)
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

// definition returns the schema of a struct: an object, or another value that a field with the
// tag short or whole allows in place of the object.
func (s *schemer) definition(t reflect.Type) any {
	properties, required, forms := map[string]any{}, []any{}, []any{}
	var wholeOnly bool
	for _, f := range fieldsOf(t) {
		schema := s.field(f, t.Field(f.index).Type)
		if f.short {
			forms = append(forms, notObject(schema))
		}
		if f.whole != nil {
			forms = append(forms, withAnyKey(schema, f.whole))
			wholeOnly = wholeOnly || len(f.whole) == 0
		}
		if f.name != "" && f.name != "-" {
			properties[f.name] = schema
		}
		if f.required {
			required = append(required, f.name)
		}
	}
	object := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		object["required"] = required
	}
	switch {
	case len(forms) == 0:
		return object
	case wholeOnly:
		return map[string]any{"anyOf": forms}
	default:
		return map[string]any{"anyOf": append(forms, object)}
	}
}

func (s *schemer) field(f field, t reflect.Type) map[string]any {
	schema := s.of(t)
	if f.single {
		schema = map[string]any{"anyOf": []any{schema["items"], schema}}
	}
	if numbers, isMap := schema["additionalProperties"].(map[string]any); f.min != nil && isMap {
		numbers["minimum"] = *f.min
	} else if f.min != nil {
		schema["minimum"] = *f.min
	}
	if f.doc != "" {
		schema["description"] = f.doc
	}
	if len(f.enum) > 0 {
		values := make([]any, len(f.enum))
		for i, v := range f.enum {
			values[i] = v
		}
		schema["enum"] = values
	}
	return schema
}

// notObject returns schema, but excludes objects if schema allows any type.
func notObject(schema map[string]any) map[string]any {
	if schema["type"] == nil && schema["$ref"] == nil && schema["enum"] == nil {
		return map[string]any{"not": map[string]any{"type": "object"}}
	}
	return schema
}

func withAnyKey(schema map[string]any, keys []string) map[string]any {
	if len(keys) == 0 {
		return schema
	}
	var either []any
	for _, key := range keys {
		either = append(either, map[string]any{"type": "object", "required": []any{key}})
	}
	return map[string]any{"allOf": []any{schema, map[string]any{"anyOf": either}}}
}

type field struct {
	index           int
	name, doc       string
	enum            []string
	required, short bool
	single          bool
	// whole has the keys of the tag "whole". An object with one of these keys is decoded into
	// this field alone. If whole is empty, every object is; if it is nil, no object is.
	whole []string
	// min is the least value of a number, or of the numbers in an object. It may be nil.
	min *int64
}

var known sync.Map // the []field of each struct type, by its reflect.Type

// fieldsOf returns the fields of a struct type that are decoded, in order.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := known.Load(t); ok {
		return fields.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		f := field{index: i, name: name, doc: tag.Get("doc"), enum: splitList(tag.Get("enum"))}
		_, f.required = tag.Lookup("required")
		_, f.short = tag.Lookup("short")
		_, f.single = tag.Lookup("single")
		if keys, ok := tag.Lookup("whole"); ok {
			f.whole = append([]string{}, splitList(keys)...)
		}
		if least, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil {
			f.min = &least
		}
		if f.name != "" && f.name != "-" || f.short || f.whole != nil {
			fields = append(fields, f)
		}
	}
	known.Store(t, fields)
	return fields
}

func splitList(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func (f field) isWhole(m map[string]any) bool {
	return f.whole != nil && (len(f.whole) == 0 || slices.ContainsFunc(f.whole, func(key string) bool { _, ok := m[key]; return ok }))
}
