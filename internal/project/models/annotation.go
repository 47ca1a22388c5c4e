package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An annotation writes the types of fields in KCL and Python, whose types can be written inside of
// other types.
type annotation struct {
	definitions Definitions
	// scalars are the types of scalars, by "string" or "string/date-time". unknown is the type of
	// any value.
	scalars map[string]string
	unknown string
	// list, dict and union are the formats of these types. separator separates the types of a
	// union.
	list, dict, union, separator string
	// literals returns the type of the values of an enum, or "".
	literals func(enum []any) string
	// refer returns the name of another definition, and imports it.
	refer func(target string) string
	// object returns the type of an object with fields, for which it may use the name.
	object func(s *Schema, name string) string
	// empty is the type of an object without fields.
	empty string
	// item and value return the name of the items of a list, and of the values of a map.
	item, value func(s *Schema, name string) string
}

// of returns the type for a schema. If the schema is an object, name is the name of its type.
func (a *annotation) of(s *Schema, name string) string {
	switch target := s.target(); {
	case target != "" && a.definitions[target] == nil:
		return a.unknown
	case target != "":
		return a.refer(target)
	}
	if all := s.alternatives(); len(all) > 0 {
		var types []string
		for i, s := range all {
			types = append(types, a.of(s, fmt.Sprintf("%s%d", name, i)))
		}
		return fmt.Sprintf(a.union, strings.Join(types, a.separator))
	}
	if literals := a.literals(s.Enum); literals != "" {
		return literals
	}
	switch more := s.values(); {
	case s.Type == "array" && s.Items == nil:
		return fmt.Sprintf(a.list, a.unknown)
	case s.Type == "array":
		return fmt.Sprintf(a.list, a.of(s.Items, a.item(s.Items, name)))
	case s.Type == "object" && more != nil && more.boolean != "":
		return fmt.Sprintf(a.dict, a.unknown)
	case s.Type == "object" && more != nil:
		return fmt.Sprintf(a.dict, a.of(more, a.value(more, name)))
	case s.Type == "object" && len(s.Properties) == 0:
		return a.empty
	case s.Type == "object":
		return a.object(s, name)
	}
	return cmp.Or(a.scalars[s.Type+"/"+s.Format], a.scalars[s.Type], a.unknown)
}

// isOpen reports whether objects may have more fields than the schema names.
func (s *Schema) isOpen() bool {
	return s.Open || s.AdditionalProperties != nil && s.AdditionalProperties.boolean != "false"
}

// literals joins the literals of the values of an enum. It returns "" if a value has no literal.
func literals(enum []any, literal func(any) string, separator string) string {
	enum = slices.DeleteFunc(slices.Clone(enum), func(v any) bool { return v == nil })
	var all []string
	for _, v := range enum {
		all = append(all, literal(v))
	}
	if slices.Contains(all, "") {
		return ""
	}
	return strings.Join(all, separator)
}

// scalar returns the literal of a scalar in KCL and Python, or "" for other values.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case bool:
		return capitalize(fmt.Sprint(v))
	case json.Number:
		return v.String()
	}
	return ""
}

// quote returns a string literal. JSON's string literals are literals of KCL and Python, too.
func quote(s string) string {
	quoted, _ := json.Marshal(s) // A string has no errors.
	return string(quoted)
}
