package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

func schemas(t *testing.T, text string) reconciler.Schemas {
	t.Helper()
	doc := e2e.Must(manifest.Document{Path: "test", Line: 1, Text: []byte("components: {schemas: {" + text + "}}")}.Object())(t)
	s := reconciler.Schemas{}
	s.Add(doc)
	return s
}

const depot = `x-kubernetes-group-version-kind: [{group: g, version: v1, kind: Depot}]`

func TestSchemas(t *testing.T) {
	kind := []any{map[string]any{"group": "g", "version": "v1", "kind": "Depot"}}
	text, toB := map[string]any{"type": "string"}, map[string]any{"$ref": "#/components/schemas/b"}
	cases := map[string]struct {
		reason, text string
		want         map[string]any
	}{
		"Ref": {
			"references are resolved in properties, additional properties and items",
			`a: {` + depot + `, properties: {p: {$ref: "#/components/schemas/b"}}, items: {$ref: "#/components/schemas/b"}, additionalProperties: {items: {$ref: "#/components/schemas/b"}}}, b: {type: string}`,
			map[string]any{"x-kubernetes-group-version-kind": kind, "properties": map[string]any{"p": text}, "items": text, "additionalProperties": map[string]any{"items": text}},
		},
		"Wrapped": {
			"a reference in allOf replaces its schema with all fields",
			`a: {` + depot + `, properties: {p: {allOf: [{type: object}, {allOf: [{$ref: "#/components/schemas/b"}]}], default: {}, description: d}}}, b: {type: string}`,
			map[string]any{"x-kubernetes-group-version-kind": kind, "properties": map[string]any{"p": text}},
		},
		"Kept": {
			"references in other places stay",
			`a: {` + depot + `, not: {$ref: "#/components/schemas/b"}, default: {$ref: "#/components/schemas/b"}, items: [{$ref: "#/components/schemas/b"}]}, b: {type: string}`,
			map[string]any{"x-kubernetes-group-version-kind": kind, "not": toB, "default": toB, "items": []any{toB}},
		},
		"Itself":  {"a recursive reference becomes an object without properties", `a: {` + depot + `, items: {allOf: [{$ref: "#/components/schemas/a"}]}}`, map[string]any{"x-kubernetes-group-version-kind": kind, "items": map[string]any{"type": "object"}}},
		"Unknown": {"a reference to a missing schema stays", `a: {` + depot + `, items: {$ref: "#/components/schemas/c"}}`, map[string]any{"x-kubernetes-group-version-kind": kind, "items": map[string]any{"$ref": "#/components/schemas/c"}}},
		"Twice":   {"the first of two schemas of a kind is found", `b: {` + depot + `, type: string}, a: {` + depot + `, type: object}`, map[string]any{"x-kubernetes-group-version-kind": kind, "type": "object"}},
		"Two":     {"a schema of two kinds is not found", `a: {x-kubernetes-group-version-kind: [{group: g, version: v1, kind: Depot}, {group: g, version: v1, kind: Silo}]}`, nil},
		"None":    {"a schema without a kind is not found", `a: {type: object}`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := schemas(t, tc.text)
			e2e.NoError(t, s.Check())
			got := s.Find(&fnv1.SchemaSelector{ApiVersion: "g/v1", Kind: "Depot"}).GetOpenapiV3()
			if (got == nil) != (tc.want == nil) {
				t.Fatalf("%s: got %v", tc.reason, got)
			}
			if diff := cmp.Diff(tc.want, got.AsMap()); tc.want != nil && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSchemasThatMultiply checks a document that is too large after its
// references are resolved: each of forty schemas refers to the next one twice.
func TestSchemasThatMultiply(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `a: {%s, items: {$ref: "#/components/schemas/n0"}}`, depot)
	for i := range 40 {
		fmt.Fprintf(&b, `, n%d: {items: {$ref: "#/components/schemas/n%d"}, additionalProperties: {$ref: "#/components/schemas/n%d"}}`, i, i+1, i+1)
	}
	e2e.ErrorHas(t, "the size of a schema with resolved references is limited", schemas(t, b.String()).Check(), "the schema of Depot has more than")
}

// TestSchemasThatReferToEachOther checks a document that is too large because of b, which
// c contains wherever b does not contain c. The first reference to c is in b.
func TestSchemasThatReferToEachOther(t *testing.T) {
	var refs strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&refs, `, c%d: {$ref: "#/components/schemas/c"}`, i)
	}
	text := fmt.Sprintf(`a: {%s, properties: {b: {$ref: "#/components/schemas/b"}%s}}`, depot, refs.String())
	text += `, b: {items: {$ref: "#/components/schemas/c"}, enum: [` + strings.Repeat("0, ", 1000) + `0]}`
	text += `, c: {items: {$ref: "#/components/schemas/b"}}`
	e2e.ErrorHas(t, "the size of schemas that refer to each other is limited", schemas(t, text).Check(), "the schema of Depot has more than")
}
