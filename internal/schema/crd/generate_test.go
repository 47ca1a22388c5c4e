package crd_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// objects returns the objects in a YAML file.
func objects(t testing.TB, path string) []map[string]any {
	t.Helper()
	data := []byte(e2e.ReadFile(t, path))
	docs := e2e.Must(manifest.Split(path, data))(t)
	var all []map[string]any
	for _, doc := range docs {
		all = append(all, e2e.Must(doc.Object())(t))
	}
	return all
}

// TestGenerate compares the CRDs with the CRDs of Crossplane v2.3 (ForCompositeResource
// and ForCompositeResourceClaim in crossplane-runtime). It ignores the owner, the status
// and the descriptions of Crossplane's own fields.
func TestGenerate(t *testing.T) {
	paths := e2e.Glob(t, "testdata/xrd/*.crds.yaml")
	undescribed := cmp.FilterPath(func(p cmp.Path) bool {
		last, ok := p.Last().(cmp.MapIndex)
		if !ok || last.Key().String() != "description" {
			return false
		}
		parent := p.Index(-3).String()
		return strings.Contains(parent, `"conditions"`) || strings.Contains(parent, `"crossplane"`)
	}, cmp.Ignore())
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			xrd := objects(t, strings.TrimSuffix(path, ".crds.yaml")+".yaml")[0]
			got := e2e.Must(crd.Generate(xrd))(t)
			e2e.Equal(t, "the CRDs are those of Crossplane", objects(t, path), got, undescribed)
		})
	}
}

// TestWithSecretStores checks that only the CRDs of Crossplane v1 get the field that selects an
// external secret store.
func TestWithSecretStores(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"legacy-claim": 2, "v1-minimal": 1, "v2-cluster": 0, "v2-namespaced": 0} {
		got := 0
		for _, was := range objects(t, filepath.Join("testdata/xrd", path+".crds.yaml")) {
			before := runtime.DeepCopyJSON(was)
			is := crd.WithSecretStores(was)
			e2e.Equal(t, path+": WithSecretStores does not change its argument", before, was)
			versions, _, _ := unstructured.NestedSlice(is, "spec", "versions")
			field, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "publishConnectionDetailsTo")
			if field == nil {
				continue
			}
			got++
			text := map[string]any{"type": "string"}
			texts := map[string]any{"type": "object", "additionalProperties": text}
			// This is the schema in CompositeResourceSpecProps of Crossplane v1.20.
			e2e.Equal(t, path+": the field has the schema of Crossplane v1.20", map[string]any{
				"type": "object", "required": []any{"name"},
				"properties": map[string]any{
					"name":      text,
					"configRef": map[string]any{"type": "object", "default": map[string]any{"name": "default"}, "properties": map[string]any{"name": text}},
					"metadata":  map[string]any{"type": "object", "properties": map[string]any{"labels": texts, "annotations": texts, "type": text}},
				},
			}, field)
			e2e.Equal(t, path+": the field is added once", is, crd.WithSecretStores(is))
		}
		e2e.Equal(t, path+": only the CRDs of Crossplane v1 get the field", want, got)
	}
}

func TestJSONSchema(t *testing.T) {
	cases := map[string]struct{ reason, value, want string }{
		"Closed":      {"fields that the API server prunes are rejected", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: false, properties: {a: {type: string}}}`},
		"Open":        {"preserved unknown fields are accepted", `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`},
		"Map":         {"a map accepts any key", `{type: object, additionalProperties: {type: object, properties: {}}}`, `{type: object, additionalProperties: {type: object, properties: {}, additionalProperties: false}}`},
		"IntOrString": {"an int-or-string has a list of types", `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`, `{type: [integer, string]}`},
		"Nullable":    {"a nullable value has the type and enum value null", `{type: string, nullable: true, enum: [a]}`, `{type: [string, "null"], enum: [a, null]}`},
		"Exclusive":   {"an exclusive bound is a number, as in draft-07", `{type: integer, minimum: 1, exclusiveMinimum: true, maximum: 2, exclusiveMaximum: false}`, `{type: integer, exclusiveMinimum: 1, maximum: 2}`},
		"Items":       {"the schema of elements is converted", `{type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}}`, `{type: array, items: {type: [string, "null"]}}`},
		"Rules":       {"CEL rules are removed", `{type: string, x-kubernetes-validations: [{rule: "true"}]}`, `{type: string}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := definition(t, "", tc.value)
			s := d.Versions[0].JSONSchema("example.json")
			if s["$id"] != "example.json" || s["$schema"] == nil {
				t.Errorf("got id %v of %v", s["$id"], s["$schema"])
			}
			spec := s["properties"].(map[string]any)["spec"].(map[string]any)
			got := e2e.Must(json.Marshal(spec["properties"].(map[string]any)["value"]))(t)
			want := e2e.Must(yaml.YAMLToJSON([]byte(tc.want)))(t)
			e2e.Equal(t, tc.reason, string(want), string(got))
			if again, _ := json.Marshal(d.Versions[0].JSONSchema("example.json")); len(again) == 0 {
				t.Error("the conversion changed the definition")
			}
		})
	}
}
