package validate_test

import (
	"bytes"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// FuzzDocuments validates arbitrary bytes as documents. Invalid results must
// have faults, and a second run must return the same results.
func FuzzDocuments(f *testing.F) {
	for _, text := range []string{
		"apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: b}\nspec: {region: eu, size: 9, costly: [a]}\n---\n5\n--- x\n",
		"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {ownerReferences: [1], labels: 5}}, null, []]}",
		"{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: 1, spec: {group: a, names: {kind: A, plural: as}, versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {items: {x: 1}}}}}}]}}",
		"{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: c}, spec: {resources: [{base: 1}], pipeline: [{step: a}]}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {names: {kind: A}, group: b, versions: [1]}}",
		"apiVersion: 1\nkind: [a]\nmetadata: {generateName: 5, annotations: {a: {}}}\n", "a: &a [*a]", "{apiVersion: apps/v1, kind: Deployment, a: 1, a: 2}",
	} {
		f.Add([]byte(text))
	}
	v := validate.New(definitions(f, platform), validate.Options{Composition: checked, Namespace: "default"})
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := func() []string { return statusLines(t, v, string(data)) }
		first := stream()
		for i, again := range stream() {
			if first[i] != again {
				t.Fatalf("the first run returned %q, the second %q", first[i], again)
			}
		}
		r := manifest.Reader{FS: afero.NewMemMapFs(), Stdin: bytes.NewReader(data)}
		err := v.Documents(t.Context(), r.Stream(t.Context(), "-"), func(r validate.Result) error {
			if (r.Status == validate.Invalid) == (len(r.Faults) == 0) && r.Status != validate.NoSchema {
				t.Errorf("%s with %d faults", r.Status, len(r.Faults))
			}
			return nil
		})
		e2e.NoError(t, err)
	})
}

// FuzzDefinition validates an object by arbitrary bytes as definitions.
func FuzzDefinition(f *testing.F) {
	f.Add([]byte(`{type: object, properties: {spec: {type: object, properties: {a: {type: array, items: {type: string, pattern: "("}, x-kubernetes-list-type: set}}}}}`))
	f.Add([]byte(`{type: object, x-kubernetes-validations: [{rule: "self.a"}], properties: {a: {type: integer, default: x, enum: [1]}}}`))
	f.Add([]byte(`{type: object, additionalProperties: {type: object, x-kubernetes-embedded-resource: true}, required: [1], not: {}}`))
	f.Add([]byte(`{x-kubernetes-preserve-unknown-fields: true, allOf: [{anyOf: []}], $ref: "#/a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		schema, err := manifest.Document{Path: "f", Line: 1, Text: data}.Object()
		if err != nil {
			return
		}
		object := map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "as.example.org"},
			"spec": map[string]any{
				"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": "A", "plural": "as"},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}},
			},
		}
		all := e2e.Must(crd.All(object))(t)
		v := validate.New([]validate.Definition{{Object: all[0], Path: "f", Line: 1}}, validate.Options{Composition: checked})
		for _, obj := range []string{"{}", "{spec: {a: [x, x, 1, null]}, a: 1, b: {kind: X}}", "{metadata: {name: a}, spec: 1, status: {}}"} {
			statusLines(t, v, "---\n"+`{apiVersion: example.org/v1, kind: A, `+obj[1:])
		}
	})
}
