package reconciler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// Schemas maps kinds to their OpenAPI schemas.
type Schemas map[schema.GroupVersionKind]Schema

// A Schema is the OpenAPI schema of one kind. all has the schemas of an OpenAPI document by
// name. The kind has the schema called name, which may refer to others.
type Schema struct {
	name string
	all  map[string]any
}

// Add adds the schemas in an OpenAPI v3 document that describe exactly one kind. The first
// schema of a kind counts.
func (s Schemas) Add(doc map[string]any) {
	all := fieldpath.Map(doc, "components", "schemas")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		gvk, ok := kindOf(all[name])
		if _, known := s[gvk]; ok && !known {
			s[gvk] = Schema{name: name, all: all}
		}
	}
}

// mostNodes limits the number of JSON values in a schema after its references are resolved.
const mostNodes = 1 << 20

// Check returns an error if a schema is too large after its references are
// resolved. Nested references can make a small document arbitrarily large.
func (s Schemas) Check() error {
	for gvk, def := range s {
		left := mostNodes
		if def.count(def.reference(), nil, &left); left < 0 {
			return fmt.Errorf("the schema of %s has more than %d values with its references resolved", gvk.Kind, mostNodes)
		}
	}
	return nil
}

// count subtracts from left the number of JSON values in the schema v after its references are
// resolved. It stops if left is negative. open has the names of the schemas that contain this schema.
func (s Schema) count(v any, open []string, left *int) {
	if *left < 0 {
		return
	}
	*left--
	def, open := s.follow(v, open)
	for key, e := range def {
		switch inner := fieldpath.Map(e); {
		case key == "properties":
			for _, p := range inner {
				s.count(p, open, left)
			}
		case isInner(key) && inner != nil:
			s.count(inner, open, left)
		default:
			*left -= size(e)
		}
	}
}

func size(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case map[string]any:
		for _, e := range v {
			n += size(e)
		}
	}
	return n
}

const refPrefix = "#/components/schemas/"

func kindOf(def any) (schema.GroupVersionKind, bool) {
	list := fieldpath.List(def, "x-kubernetes-group-version-kind")
	if len(list) != 1 {
		return schema.GroupVersionKind{}, false
	}
	text := func(key string) string { return fieldpath.Text(list[0], key) }
	return schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")}, true
}

// Find returns the schema for sel with its references resolved, or an empty
// message if there is none.
func (s Schemas) Find(sel *fnv1.SchemaSelector) *fnv1.Schema {
	found, ok := s[schema.FromAPIVersionAndKind(sel.GetApiVersion(), sel.GetKind())]
	if !ok {
		return &fnv1.Schema{}
	}
	st, err := newStruct(fieldpath.Map(found.resolve(found.reference(), nil)))
	if err != nil {
		return &fnv1.Schema{}
	}
	return &fnv1.Schema{OpenapiV3: st}
}

func (s Schema) reference() map[string]any { return map[string]any{"$ref": refPrefix + s.name} }

// resolve returns the schema v with the references in its properties, additional properties and
// items resolved. Like Crossplane, it keeps other references. open has the names of the schemas
// that contain this schema.
func (s Schema) resolve(v any, open []string) any {
	def, open := s.follow(v, open)
	if def == nil {
		return v
	}
	out := maps.Clone(def)
	for key, e := range def {
		inner := fieldpath.Map(e)
		switch {
		case inner == nil:
		case key == "properties":
			properties := make(map[string]any, len(inner))
			for name, p := range inner {
				properties[name] = s.resolve(p, open)
			}
			out[key] = properties
		case isInner(key):
			out[key] = s.resolve(inner, open)
		}
	}
	return out
}

// isInner reports whether the field key of a schema has one inner schema that Crossplane resolves.
func isInner(key string) bool { return key == "additionalProperties" || key == "items" }

// follow returns the schema that the schema v refers to, or v if it has no reference to a known
// schema. The reference replaces the fields beside it. A recursive reference becomes an object
// without properties. follow returns open with the name of the schema that it returns.
func (s Schema) follow(v any, open []string) (map[string]any, []string) {
	def := fieldpath.Map(v)
	name := strings.TrimPrefix(refOf(def), refPrefix)
	if slices.Contains(open, name) {
		return map[string]any{"type": "object"}, open
	}
	if to := fieldpath.Map(s.all[name]); to != nil {
		return to, append(open, name)
	}
	return def, open
}

// refOf returns the reference of a schema, or "". Kubernetes wraps a reference in allOf if it has a
// default or a description of its own.
func refOf(def map[string]any) string {
	if ref, ok := def["$ref"].(string); ok {
		return ref
	}
	for _, e := range fieldpath.List(def, "allOf") {
		if ref := refOf(fieldpath.Map(e)); ref != "" {
			return ref
		}
	}
	return ""
}
