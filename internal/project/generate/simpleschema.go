package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A converter converts fields in SimpleSchema to OpenAPI. SimpleSchema is the syntax of kro:
// the value of a field is its type and its markers, such as "string | default=small".
type converter struct {
	// types are the custom types, and within the custom types that are being converted.
	types  map[string]any
	within []string
	// results is true for a status, whose fields may be CEL expressions in ${}.
	results bool
	// columns are the printer columns of fields with the marker printColumn.
	columns []any
}

type fieldError struct {
	field string
	error
}

// isSimpleSchema reports whether all values of a spec are types in SimpleSchema, and one has a marker.
// Without a marker, a value such as "string" may be an example.
func isSimpleSchema(spec map[string]any) bool {
	_, err := (&converter{}).object(spec, "spec")
	return err == nil && strings.Contains(fmt.Sprint(spec), " | ")
}

// checked returns a fieldError for the first problem that an API server would find in the
// schema of an XRD, such as a default that has another type than its field.
func checked(ctx context.Context, x xrd) error {
	kinds, err := schema.Define(x.object())
	if err != nil || len(kinds) == 0 {
		return err
	}
	faults := kinds[0].Check(ctx)
	if len(faults) == 0 {
		return nil
	}
	_, rest, inSchema := strings.Cut(faults[0].Field, ".openAPIV3Schema.")
	if !inSchema {
		return fmt.Errorf("the XRD would be invalid: %s", faults[0])
	}
	var names []string
	for {
		after, ok := strings.CutPrefix(rest, "properties.")
		if !ok {
			break
		}
		var name string
		name, rest, _ = strings.Cut(after, ".")
		names = append(names, name)
	}
	field := strings.Join(names, ".")
	return &fieldError{field, fmt.Errorf("%s: %s: %s", field, rest, faults[0].Text)}
}

// object returns the schema of an object. Its default is an empty object if a field has a
// default and no field is required, because defaults apply only to fields of existing
// objects.
func (c *converter) object(fields map[string]any, at string) (map[string]any, error) {
	properties, required, defaults := map[string]any{}, []any(nil), false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		schema, must, err := c.field(fields[name], at+"."+name)
		if err != nil && !errors.As(err, new(*fieldError)) {
			err = &fieldError{at + "." + name, err}
		}
		if err != nil {
			return nil, err
		}
		if properties[name] = schema; must {
			required = append(required, name)
		}
		defaults = defaults || schema["default"] != nil
	}
	object := objectOf(properties)
	switch {
	case required != nil:
		object["required"] = required
	case defaults:
		object["default"] = map[string]any{}
	}
	return object, nil
}

// field returns the schema of a field. value is an object of fields, a type with markers such as
// "string | required=true", or, in results, an expression in ${}.
func (c *converter) field(value any, at string) (schema map[string]any, required bool, err error) {
	if fields, ok := value.(map[string]any); ok {
		schema, err = c.object(fields, at)
		return schema, false, err
	}
	text, ok := value.(string)
	if !ok {
		return nil, false, fmt.Errorf("%s is %v, expected a type such as string, or an object with fields", at, value)
	}
	if c.results && strings.Contains(text, "${") {
		if strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}") {
			return map[string]any{"x-kubernetes-preserve-unknown-fields": true}, false, nil
		}
		return map[string]any{"type": "string"}, false, nil
	}
	name, rest, _ := strings.Cut(text, "|")
	if schema, required, err = c.typed(name, at); err != nil {
		return nil, false, err
	}
	markers, err := parseMarkers(rest)
	for _, m := range markers {
		if err == nil && m.name == "required" {
			required, err = strconv.ParseBool(m.value)
		} else if err == nil {
			err = c.mark(schema, m, at)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", at, err)
	}
	return schema, required, err
}

// typed returns the schema of a type. A custom type may say that its fields are required.
func (c *converter) typed(name, at string) (schema map[string]any, required bool, err error) {
	name = strings.TrimSpace(name)
	if item, ok := strings.CutPrefix(name, "[]"); ok {
		schema, _, err = c.typed(item, at+"[]")
		return map[string]any{"type": "array", "items": schema}, false, err
	}
	if value, ok := strings.CutPrefix(name, "map[string]"); ok {
		schema, _, err = c.typed(value, at+"[]")
		return map[string]any{"type": "object", "additionalProperties": schema}, false, err
	}
	switch name {
	case "string", "integer", "boolean":
		return map[string]any{"type": name}, false, nil
	case "float", "number":
		return map[string]any{"type": "number"}, false, nil
	case "object":
		return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, false, nil
	}
	custom, ok := c.types[name]
	if !ok {
		known := append([]string{"string", "integer", "boolean", "float", "object"}, slices.Sorted(maps.Keys(c.types))...)
		return nil, false, fmt.Errorf("%s has the unknown type %q, expected one of %s, or a list or map of it", at, name, strings.Join(known, ", "))
	}
	if slices.Contains(c.within, name) {
		return nil, false, fmt.Errorf("%s has the type %q, which contains itself", at, name)
	}
	c.within = append(c.within, name)
	schema, required, err = c.field(custom, at)
	c.within = c.within[:len(c.within)-1]
	return schema, required, err
}

// checkTypes returns a fieldError for the first problem of the custom types. No field needs to have
// these types.
func checkTypes(types map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(types)) {
		at := "customTypes." + name
		if _, _, err := (&converter{types: types}).typed(name, at); err != nil {
			if !errors.As(err, new(*fieldError)) {
				err = &fieldError{at, err}
			}
			return err
		}
	}
	return nil
}

// A marker is a property of a field: name=value.
type marker struct{ name, value string }

// parseMarkers returns markers that are separated by spaces, and possibly "|". A value may be quoted,
// and a list or an object of JSON.
func parseMarkers(text string) (all []marker, err error) {
	for {
		if text = strings.TrimLeft(text, " \t\n|"); text == "" {
			return all, nil
		}
		name, rest, ok := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !ok || strings.ContainsAny(name, " \"") {
			return nil, fmt.Errorf("expected markers such as default=1, got %q", text)
		}
		var value string
		if value, text, err = markerValue(rest); err != nil {
			return nil, fmt.Errorf("marker %s: %w", name, err)
		}
		all = append(all, marker{name, value})
	}
}

// unescape replaces escaped quotes and backslashes.
var unescape = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// markerValue returns the value at the beginning of a text, and what follows it. The quotes around a
// value are removed.
func markerValue(text string) (value, rest string, err error) {
	depth, quoted, end := 0, false, 0
	for ; end < len(text) && (quoted || depth > 0 || !strings.ContainsRune(" \t\n", rune(text[end]))); end++ {
		switch char := text[end]; {
		case quoted && char == '\\' && end+1 < len(text):
			end++
		case char == '"':
			quoted = !quoted
		case quoted:
		case char == '[' || char == '{':
			depth++
		case char == ']' || char == '}':
			if depth--; depth < 0 {
				return "", "", fmt.Errorf("the value %q has a closing bracket without an opening one; put it in quotes", text)
			}
		}
	}
	switch value = text[:end]; {
	case quoted:
		return "", "", fmt.Errorf("the value %q has no closing quote", text)
	case depth > 0:
		return "", "", fmt.Errorf("the value %q has no closing bracket", text)
	case len(value) > 1 && strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`):
		value = unescape.Replace(value[1 : len(value)-1])
	}
	return value, text[end:], nil
}

// limits are the markers whose values are numbers, which schemas have under the same name.
var limits = []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}

// typeOf has the type of the fields that a marker is for, if it is not for all.
var typeOf = map[string]string{
	"pattern": "string", "minLength": "string", "maxLength": "string",
	"minItems": "array", "maxItems": "array", "uniqueItems": "array", "listType": "array", "listMapKey": "array",
}

// mark adds a marker, other than required, to the schema of a field.
func (c *converter) mark(schema map[string]any, m marker, at string) (err error) {
	kind, _ := schema["type"].(string)
	rule := func(rule, message string) {
		all, _ := schema["x-kubernetes-validations"].([]any)
		schema["x-kubernetes-validations"] = append(all, map[string]any{"rule": rule, "message": message})
	}
	if want := typeOf[m.name]; want != "" && want != kind {
		return fmt.Errorf("marker %s: it is for the type %s, not for %s", m.name, want, kind)
	}
	on := false
	switch m.name {
	case "description", "pattern":
		if m.value != "" {
			schema[m.name] = m.value
		}
	case "default":
		if schema[m.name], err = literal(kind, m.value); kind == "string" {
			// As in kro, a default may have the escapes of JSON, such as \n.
			if text := ""; json.Unmarshal([]byte(`"`+m.value+`"`), &text) == nil {
				schema[m.name] = text
			}
		}
	case "enum":
		var values []any
		for text := range strings.SplitSeq(m.value, ",") {
			text = strings.TrimSpace(text)
			value, valueErr := literal(kind, text)
			if _, ok := value.(int64); kind == "integer" && !ok {
				valueErr = fmt.Errorf("%q is not a value of type integer", text)
			}
			if values = append(values, value); valueErr != nil {
				err = valueErr
			}
		}
		schema[m.name] = values
	case "validation":
		rule(m.value, "validation failed")
	case "immutable":
		if on, err = strconv.ParseBool(m.value); on {
			rule("self == oldSelf", "field is immutable")
		}
	case "uniqueItems":
		// CRDs cannot have uniqueItems. For lists of scalars, the list type set means the same.
		if on, err = strconv.ParseBool(m.value); on {
			err = setListType(schema, "set")
		}
	case "listType":
		err = setListType(schema, m.value)
	case "listMapKey":
		keys, _ := schema["x-kubernetes-list-map-keys"].([]any)
		schema["x-kubernetes-list-map-keys"] = append(keys, m.value)
	case "printColumn":
		if strings.Contains(at, "[]") {
			return errors.New("marker printColumn: a column has one value, and cannot be a field in a list or a map")
		}
		if !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
			kind = "string"
		}
		c.columns = append(c.columns, map[string]any{"name": m.value, "type": kind, "jsonPath": "." + at})
	default:
		if slices.Contains(limits, m.name) {
			schema[m.name], err = literal("number", m.value)
			break
		}
		known := append([]string{"required", "default", "description", "enum", "pattern", "validation", "immutable", "uniqueItems", "listType", "listMapKey", "printColumn"}, limits...)
		err = fmt.Errorf("unknown marker %q, expected one of %s", m.name, strings.Join(known, ", "))
		if near := hint.Nearest(m.name, known); near != "" {
			err = fmt.Errorf("unknown marker %q: is it %s?", m.name, near)
		}
		return err
	}
	if err != nil {
		err = fmt.Errorf("marker %s: %w", m.name, err)
	}
	return err
}

// setListType sets the type of a list, which may have been set to the same type.
func setListType(schema map[string]any, value string) error {
	if old := schema["x-kubernetes-list-type"]; old != nil && old != value {
		return fmt.Errorf("the list has the type %v already", old)
	}
	schema["x-kubernetes-list-type"] = value
	return nil
}

// literal returns the value of a marker for a field of a type: a string, or JSON.
func literal(kind, text string) (any, error) {
	if kind == "string" {
		return text, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("%q is not a value of type %s", text, kind)
	}
	return value, nil
}
