package reconciler

import (
	"fmt"
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

// Add adds the schemas in an OpenAPI v3 document that describe exactly one kind.
func (s Schemas) Add(doc map[string]any) {
	all := fieldpath.Map(doc, "components", "schemas")
	for name, def := range all {
		if gvk, ok := kindOf(def); ok {
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
		if def.count(def.name, nil, &left); left < 0 {
			return fmt.Errorf("the schema of %s has more than %d values with its references resolved", gvk.Kind, mostNodes)
		}
	}
	return nil
}

// count subtracts from left the number of JSON values in the schema called name after its
// references are resolved. It stops if left is negative. open has the names of the schemas
// that contain this schema.
func (s Schema) count(name string, open []string, left *int) {
	if slices.Contains(open, name) {
		*left--
		return
	}
	s.countIn(s.all[name], append(open, name), left)
}

func (s Schema) countIn(v any, open []string, left *int) {
	if *left < 0 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.countIn(e, open, left)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			s.count(strings.TrimPrefix(ref, refPrefix), open, left)
			return
		}
		for _, e := range v {
			s.countIn(e, open, left)
		}
	}
	*left--
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
// message if there is none. A recursive reference becomes an empty schema.
func (s Schemas) Find(sel *fnv1.SchemaSelector) *fnv1.Schema {
	found, ok := s[schema.FromAPIVersionAndKind(sel.GetApiVersion(), sel.GetKind())]
	if !ok {
		return &fnv1.Schema{}
	}
	st, err := newStruct(fieldpath.Map(found.resolve(found.name, nil)))
	if err != nil {
		return &fnv1.Schema{}
	}
	return &fnv1.Schema{OpenapiV3: st}
}

// resolve returns the schema called name with its references resolved. open has
// the names of the schemas that contain this schema.
func (s Schema) resolve(name string, open []string) any {
	if slices.Contains(open, name) {
		return map[string]any{}
	}
	return s.inline(s.all[name], append(slices.Clone(open), name))
}

func (s Schema) inline(v any, open []string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.inline(v[i], open)
		}
		return out
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return s.resolve(strings.TrimPrefix(ref, refPrefix), open)
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = s.inline(e, open)
		}
		return out
	}
	return v
}
