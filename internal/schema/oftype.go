package schema

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Enumerated is implemented by types of strings with a fixed set of values.
type Enumerated interface {
	// Enum returns the values that the type accepts. It does not depend on the receiver.
	Enum() []string
}

// OfType returns the structural schema of the values that a Go type decodes. Fields with the tag
// required are required. Values of a type that contains itself, or that has its own decoder, have
// any form.
func OfType(t reflect.Type) map[string]any { return typeStack{}.of(t) }

// A typeStack has the struct types that contain the current one.
type typeStack []reflect.Type

func (outer typeStack) of(t reflect.Type) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[metav1.ObjectMeta]() && len(outer) == 1:
		return map[string]any{"type": "object"}
	case t == reflect.TypeFor[metav1.Duration]():
		return map[string]any{"type": "string"}
	case decodesItself(t), t.Kind() == reflect.Interface, slices.Contains(outer, t):
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	}
	switch t.Kind() {
	case reflect.Struct:
		return append(slices.Clone(outer), t).object(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": outer.of(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": outer.of(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return text(t)
	default:
		return map[string]any{"type": "integer"}
	}
}

func (outer typeStack) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for name, f := range fieldsOf(t) {
		properties[name] = outer.of(f.Type)
		if _, ok := f.Tag.Lookup("required"); ok {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object"}
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		slices.SortFunc(required, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		s["required"] = required
	}
	return s
}

func text(t reflect.Type) map[string]any {
	s := map[string]any{"type": "string"}
	if e, ok := reflect.Zero(t).Interface().(Enumerated); ok {
		var values []any
		for _, v := range e.Enum() {
			values = append(values, v)
		}
		s["enum"] = values
	}
	return s
}
