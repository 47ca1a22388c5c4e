package crd

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// JSONSchema returns the version's schema as a JSON Schema (draft-07) with an
// id, for editors. It rejects fields that the API server would prune, and
// contains no x-kubernetes-* keywords.
func (v Version) JSONSchema(id string) map[string]any {
	out := jsonSchema(runtime.DeepCopyJSON(v.schema))
	out["$schema"], out["$id"] = "http://json-schema.org/draft-07/schema#", id
	// The schema in a CRD lists only restricted fields of metadata. Others must be allowed.
	if props := object(out).object("properties"); props != nil {
		props["apiVersion"], props["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
		props["metadata"] = map[string]any{"type": "object"}
	}
	return out
}

// jsonSchema converts an OpenAPI schema to a JSON Schema in place, and returns it.
func jsonSchema(s object) map[string]any {
	if s == nil {
		return map[string]any{}
	}
	rejectUnknown(s)
	if s.is("x-kubernetes-int-or-string") {
		delete(s, "anyOf")
		s["type"] = []any{"integer", "string"}
	}
	if s.is("nullable") {
		nullable(s)
	}
	// In OpenAPI, exclusiveMinimum is a boolean beside minimum. In draft-07, it is
	// the limit itself.
	for flag, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		limit, bounded := s[bound]
		if s.is(flag) && bounded {
			s[flag] = limit
			delete(s, bound)
			continue
		}
		delete(s, flag)
	}
	maps.DeleteFunc(s, func(key string, _ any) bool { return strings.HasPrefix(key, "x-kubernetes-") || key == "nullable" })
	for _, key := range []string{"properties", "patternProperties", "definitions"} {
		for name, m := range s.object(key) {
			if sub, ok := m.(map[string]any); ok {
				s.object(key)[name] = jsonSchema(sub)
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if sub := s.object(key); sub != nil {
			s[key] = jsonSchema(sub)
		}
	}
	return s
}

// rejectUnknown makes a schema reject unknown fields, unless the API server keeps them.
func rejectUnknown(s object) {
	_, other := s["additionalProperties"]
	if s.object("properties") != nil && !other && !s.is("x-kubernetes-preserve-unknown-fields") && !s.is("x-kubernetes-embedded-resource") {
		s["additionalProperties"] = false
	}
}

// nullable changes a schema so that it also allows null.
func nullable(s object) {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
	case []any:
		s["type"] = append(t, "null")
	}
	if enum := s.list("enum"); enum != nil {
		s["enum"] = append(enum, nil)
	}
}
