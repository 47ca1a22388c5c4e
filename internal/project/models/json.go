package models

import (
	"encoding/json"
	"maps"
	"strings"
)

const (
	schemaSuffix = ".schema.json"
	// IndexFile is the name of the JSON Schema that matches an object of any kind.
	IndexFile = "index" + schemaSuffix
)

func jsonFiles(d Definitions) map[string][]byte {
	files := map[string][]byte{}
	for name, s := range d {
		files[jsonFile(name)], _ = json.Marshal(s.jsonSchema()) // A schema that was JSON has no errors.
	}
	return files
}

func jsonFile(definition string) string {
	return strings.ReplaceAll(definition, ".", "-") + schemaSuffix
}

// jsonSchema returns the JSON Schema of s, without the keywords of OpenAPI and Kubernetes.
// As in the crossplane CLI, objects have only the fields that the schema names.
func (s *Schema) jsonSchema() *Schema {
	if s == nil || s.boolean != "" {
		return s
	}
	out := *s
	out.IntOrString, out.Open, out.Embedded, out.Nullable, out.Kinds = false, false, false, false, nil
	if name, ok := strings.CutPrefix(s.Ref, refPrefix); ok {
		out.Ref = jsonFile(name)
	}
	if s.IntOrString && len(s.AnyOf) == 0 && len(s.AllOf) == 0 {
		out.AnyOf = s.alternatives()
	}
	out.AllOf, out.AnyOf, out.OneOf = jsonSchemas(out.AllOf), jsonSchemas(out.AnyOf), jsonSchemas(out.OneOf)
	out.Not, out.Items, out.AdditionalProperties = s.Not.jsonSchema(), s.Items.jsonSchema(), s.AdditionalProperties.jsonSchema()
	if out.Type == "object" && out.AdditionalProperties == nil {
		out.AdditionalProperties = &Schema{boolean: "false"}
	}
	exclusive(&out.Maximum, &out.ExclusiveMaximum)
	exclusive(&out.Minimum, &out.ExclusiveMinimum)
	out.Properties = maps.Clone(s.Properties)
	for name, p := range s.Properties {
		out.Properties[name] = p.jsonSchema()
	}
	return &out
}

func jsonSchemas(list []*Schema) []*Schema {
	var all []*Schema
	for _, s := range list {
		all = append(all, s.jsonSchema())
	}
	return all
}

// exclusive converts an exclusive limit from OpenAPI, where it is a boolean.
func exclusive(limit *json.Number, exclusive *any) {
	switch *exclusive {
	case true:
		*exclusive, *limit = *limit, ""
	case false:
		*exclusive = nil
	}
}
