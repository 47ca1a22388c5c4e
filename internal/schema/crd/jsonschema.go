package crd

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// JSONSchema returns the version's schema as a JSON Schema (draft-07) with an
// id, for editors. It rejects fields that the API server would prune, and
// contains no x-kubernetes-* keywords.
func (v Version) JSONSchema(id string) map[string]any {
	out := jsonSchema(runtime.DeepCopyJSON(v.schema))
	out["$schema"], out["$id"] = "http://json-schema.org/draft-07/schema#", id
	// The schema in a CRD lists only restricted fields of metadata. Others must be allowed.
	if props := fieldpath.Map(out, "properties"); props != nil {
		props["apiVersion"], props["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
		props["metadata"] = map[string]any{"type": "object"}
	}
	return out
}

// jsonSchema converts an OpenAPI schema to a JSON Schema in place, and returns it.
func jsonSchema(s map[string]any) map[string]any {
	if s == nil {
		return map[string]any{}
	}
	// Reject unknown fields, unless the API server keeps them.
	_, other := s["additionalProperties"]
	if fieldpath.Map(s, "properties") != nil && !other && s["x-kubernetes-preserve-unknown-fields"] != true && s["x-kubernetes-embedded-resource"] != true {
		s["additionalProperties"] = false
	}
	if s["x-kubernetes-int-or-string"] == true {
		delete(s, "anyOf")
		s["type"] = []any{"integer", "string"}
	}
	if s["nullable"] == true {
		nullable(s)
	}
	// In OpenAPI, exclusiveMinimum is a boolean beside minimum. In draft-07, it is
	// the limit itself.
	for flag, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		limit, bounded := s[bound]
		if s[flag] == true && bounded {
			s[flag] = limit
			delete(s, bound)
			continue
		}
		delete(s, flag)
	}
	maps.DeleteFunc(s, func(key string, _ any) bool { return strings.HasPrefix(key, "x-kubernetes-") || key == "nullable" })
	for _, key := range []string{"properties", "patternProperties", "definitions"} {
		for name, m := range fieldpath.Map(s, key) {
			if sub, ok := m.(map[string]any); ok {
				fieldpath.Map(s, key)[name] = jsonSchema(sub)
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if sub := fieldpath.Map(s, key); sub != nil {
			s[key] = jsonSchema(sub)
		}
	}
	return s
}

// nullable changes a schema so that it also allows null.
func nullable(s map[string]any) {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
	case []any:
		s["type"] = append(t, "null")
	}
	if enum := fieldpath.List(s, "enum"); enum != nil {
		s["enum"] = append(enum, nil)
	}
}
