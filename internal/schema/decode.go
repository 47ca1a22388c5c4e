package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// Decode returns the errors of strictly decoding obj into the Go type of the
// kind: unknown fields, values of the wrong type, and values that an enumeration does not have.
// obj must have the types of decoded JSON, with whole numbers as int64.
func (k Kind) Decode(obj map[string]any) []Fault {
	return DecodeKind(nil, obj, k.fields)
}

// DecodeKind is like Kind.Decode, for a value v at the path at and a Go type into.
func DecodeKind(at *field.Path, v any, into reflect.Type) []Fault {
	var d decoder
	d.value(at, v, into)
	return d.found
}

// Misfits returns a fault for each value in a JSON text whose type does not fit a Go type. The
// faults have the indexes of lists, which errors of decoding lack.
func Misfits(text []byte, into reflect.Type) []Fault {
	var v any
	if into == nil || kjson.UnmarshalCaseSensitivePreserveInts(text, &v) != nil {
		return nil
	}
	return slices.DeleteFunc(DecodeKind(nil, v, into), func(f Fault) bool {
		return f.Unknown || f.Err.Type != field.ErrorTypeTypeInvalid
	})
}

// A decoder collects the faults of a value that does not fit a Go type.
type decoder struct{ found []Fault }

func (d *decoder) value(at *field.Path, v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case v == nil:
	case decodesItself(t) || isBytes(t):
		d.scalar(at, v, t)
	case t.Kind() == reflect.Struct:
		d.object(at, v, t)
	case t.Kind() == reflect.Map:
		obj, ok := v.(map[string]any)
		if !ok {
			d.addTypeFault(at, v, t)
		}
		for _, key := range manifest.Keys(obj) {
			d.value(at.Key(key), obj[key], t.Elem())
		}
	case t.Kind() == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			d.addTypeFault(at, v, t)
		}
		for i, e := range list {
			d.value(at.Index(i), e, t.Elem())
		}
	case t.Kind() != reflect.Interface:
		d.scalar(at, v, t)
	}
}

func (d *decoder) object(at *field.Path, v any, t reflect.Type) {
	obj, ok := v.(map[string]any)
	if !ok {
		d.addTypeFault(at, v, t)
		return
	}
	fields := fieldsOf(t)
	for _, key := range manifest.Keys(obj) {
		if f, ok := fields[key]; ok {
			d.value(at.Child(key), obj[key], f.Type)
			continue
		}
		d.found = append(d.found, Fault{
			Field: FieldName(at.Child(key).String()), Unknown: true, Text: "unknown field",
			Nearest: hint.Nearest(key, manifest.Keys(fields)),
		})
	}
}

// scalar checks a value for a Go type without fields, or with its own JSON decoder.
func (d *decoder) scalar(at *field.Path, v any, t reflect.Type) {
	if isPlain(v, t) {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		d.addTypeFault(at, v, t)
		return
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(t).Interface())
	switch {
	case err == nil:
		text, isText := v.(string)
		if e, ok := reflect.Zero(t).Interface().(Enumerated); ok && isText && text != "" && !slices.Contains(e.Enum(), text) {
			d.found = append(d.found, Of(field.NotSupported(at, text, e.Enum())))
		}
	case decodesItself(t) && !strings.Contains(err.Error(), "cannot unmarshal"):
		d.found = append(d.found, Of(field.Invalid(at, v, err.Error())))
	default:
		d.addTypeFault(at, v, t)
	}
}

// isPlain reports whether v fits the Go type without a look at the value.
func isPlain(v any, t reflect.Type) bool {
	switch v.(type) {
	case bool:
		return t == reflect.TypeFor[bool]()
	case string:
		return t == reflect.TypeFor[string]()
	case int64:
		return t == reflect.TypeFor[int64]()
	default:
		return false
	}
}

// addTypeFault adds a fault for a value of another type. Messages have no values of Secrets.
func (d *decoder) addTypeFault(at *field.Path, v any, t reflect.Type) {
	if isBytes(t) || at != nil && at.Root().String() == "stringData" {
		d.found = append(d.found, Of(field.TypeInvalid(at, field.OmitValueType{}, "must be "+kindOf(t))))
		return
	}
	d.found = append(d.found, Of(field.TypeInvalid(at, messageValue(v), fmt.Sprintf("must be %s, not %s", kindOf(t), valueKind(v)))))
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// messageValue returns the value that an error message shows for v. Messages
// omit objects and lists.
func messageValue(v any) any {
	switch v.(type) {
	case map[string]any, []any:
		return field.OmitValueType{}
	default:
		return v
	}
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decodesItself reports whether t implements json.Unmarshaler or encoding.TextUnmarshaler.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonDecoder) || p.Implements(textDecoder)
}

// known caches the results of fieldsOf.
var known sync.Map

func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if fields, ok := known.Load(t); ok {
		return fields.(map[string]reflect.StructField)
	}
	fields := map[string]reflect.StructField{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" && options == "":
		case name == "" && f.Anonymous:
			inline := f.Type
			if inline.Kind() == reflect.Pointer {
				inline = inline.Elem()
			}
			for name, f := range fieldsOf(inline) {
				if _, ok := fields[name]; !ok {
					fields[name] = f
				}
			}
		case !f.IsExported():
		case name == "":
			fields[f.Name] = f
		default:
			fields[name] = f
		}
	}
	known.Store(t, fields)
	return fields
}

// NearestField returns the field of a Go type whose name is most similar to the last element
// of path, an unknown field such as "spec.steps[0].nmae". It returns "" if there is none.
func NearestField(t reflect.Type, path string) string {
	names, _ := FieldNames(t, path)
	return hint.Nearest(path[strings.LastIndex(path, ".")+1:], names)
}

// FieldNames returns the JSON names of the fields beside the field at a path in a Go type, sorted.
// inMaps has the names of the fields whose values are objects with any keys.
func FieldNames(t reflect.Type, path string) (names, inMaps []string) {
	parents := strings.Split(path, ".")
	for _, name := range parents[:len(parents)-1] {
		name, _, _ = strings.Cut(name, "[")
		if t = structIn(t); t == nil {
			return nil, nil
		}
		t = fieldsOf(t)[name].Type
	}
	if t = structIn(t); t == nil {
		return nil, nil
	}
	names = manifest.Keys(fieldsOf(t))
	for _, name := range names {
		if fieldsOf(t)[name].Type.Kind() == reflect.Map {
			inMaps = append(inMaps, name)
		}
	}
	return names, inMaps
}

// DidYouMean returns the end of a message about an unknown field of a Go type: ", did you
// mean NAME?", or "" if no field has a similar name.
func DidYouMean(t reflect.Type, path string) string {
	return hint.DidYouMean(NearestField(t, path))
}

// structIn returns t without pointers, lists and maps around it, or nil if the rest is not a
// struct.
func structIn(t reflect.Type) reflect.Type {
	for t != nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			return t
		default:
			return nil
		}
	}
	return nil
}

// kindOf describes the values of a Go type for error messages, such as "a whole number".
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int32, reflect.Uint32:
		return "a whole number of 32 bits"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		if isBytes(t) {
			return "text in base64"
		}
		return "a list"
	case reflect.Map:
		return "an object"
	}
	if decodesItself(t) {
		return "of another type"
	}
	return "an object"
}

// valueKind describes a value for error messages, such as "a list".
func valueKind(v any) string {
	switch v.(type) {
	case float64:
		return "a number with a fraction"
	case string, bool, map[string]any, []any:
		return manifest.DescribeValue(v)
	default:
		return fmt.Sprintf("the number %v", v)
	}
}

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
