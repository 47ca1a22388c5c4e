package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Schema is an OpenAPI schema. Its fields have the order in which the crossplane CLI writes
// the keywords of a JSON Schema.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	AllOf                []*Schema          `json:"allOf,omitempty"`
	AnyOf                []*Schema          `json:"anyOf,omitempty"`
	OneOf                []*Schema          `json:"oneOf,omitempty"`
	Not                  *Schema            `json:"not,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	Type                 string             `json:"type,omitempty"`
	Enum                 []any              `json:"enum,omitempty"`
	MultipleOf           json.Number        `json:"multipleOf,omitempty"`
	Maximum              json.Number        `json:"maximum,omitempty"`
	// ExclusiveMaximum is a boolean in OpenAPI, and a number in a JSON Schema.
	ExclusiveMaximum any         `json:"exclusiveMaximum,omitempty"`
	Minimum          json.Number `json:"minimum,omitempty"`
	ExclusiveMinimum any         `json:"exclusiveMinimum,omitempty"`
	MaxLength        *int64      `json:"maxLength,omitempty"`
	MinLength        *int64      `json:"minLength,omitempty"`
	Pattern          string      `json:"pattern,omitempty"`
	MaxItems         *int64      `json:"maxItems,omitempty"`
	MinItems         *int64      `json:"minItems,omitempty"`
	UniqueItems      bool        `json:"uniqueItems,omitempty"`
	MaxProperties    *int64      `json:"maxProperties,omitempty"`
	MinProperties    *int64      `json:"minProperties,omitempty"`
	Required         []string    `json:"required,omitempty"`
	Format           string      `json:"format,omitempty"`
	Title            string      `json:"title,omitempty"`
	Description      string      `json:"description,omitempty"`
	Default          any         `json:"default,omitempty"`

	IntOrString bool               `json:"x-kubernetes-int-or-string,omitempty"`
	Open        bool               `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	Embedded    bool               `json:"x-kubernetes-embedded-resource,omitempty"`
	Nullable    bool               `json:"nullable,omitempty"`
	Kinds       []groupVersionKind `json:"x-kubernetes-group-version-kind,omitempty"`

	// boolean is "true" or "false" for a schema that is a boolean.
	boolean string
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// UnmarshalJSON also decodes a boolean.
func (s *Schema) UnmarshalJSON(data []byte) error {
	if text := string(data); text == "true" || text == "false" {
		s.boolean = text
		return nil
	}
	type plain Schema
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode((*plain)(s))
}

// MarshalJSON also encodes a boolean. A schema that allows any value is true, as in the crossplane CLI.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.boolean != "" {
		return []byte(s.boolean), nil
	}
	type plain Schema
	data, err := json.Marshal((*plain)(s))
	if string(data) == "{}" {
		data = []byte("true")
	}
	return data, err
}

// DecodeSchema decodes a schema of JSON types.
func DecodeSchema(from any) (*Schema, error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("encoding a schema: %w", err)
	}
	s := &Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("expected an OpenAPI v3 schema: %w", err)
	}
	return s, nil
}

// refPrefix begins all references of OpenAPI to schemas.
const refPrefix = "#/components/schemas/"

func reference(name, description string) *Schema {
	return &Schema{AllOf: []*Schema{{Ref: refPrefix + name}}, Description: description}
}

// target returns the name of the definition to which s refers, or "".
func (s *Schema) target() string {
	ref := s.Ref
	if ref == "" && len(s.AllOf) == 1 && s.Type == "" && len(s.Properties) == 0 {
		ref = s.AllOf[0].Ref
	}
	return strings.TrimPrefix(ref, refPrefix)
}

// alternatives returns, for a schema without a type, the schemas of which a value must match one.
func (s *Schema) alternatives() []*Schema {
	switch {
	case s.IntOrString || s.Format == "int-or-string":
		return []*Schema{{Type: "integer"}, {Type: "string"}}
	case s.Type != "" || s.target() != "":
		return nil
	}
	for _, list := range [][]*Schema{s.OneOf, s.AnyOf} {
		typed := slices.IndexFunc(list, func(s *Schema) bool { return s.Type == "" && s.target() == "" }) < 0
		if typed && len(list) > 0 {
			return list
		}
	}
	return nil
}

// values returns the schema of the values of a map, or nil for an object with fields.
func (s *Schema) values() *Schema {
	if more := s.AdditionalProperties; more != nil && more.boolean != "false" && len(s.Properties) == 0 {
		return more
	}
	return nil
}

func (s *Schema) names() []string { return slices.Sorted(maps.Keys(s.Properties)) }
