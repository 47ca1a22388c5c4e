package check_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// FuzzComposition checks that checking any Composition ends, and that every
// problem has a field and a line.
func FuzzComposition(f *testing.F) {
	f.Add([]byte(pipeline("  resources:\n  - {name: a, base: {apiVersion: gold.test/v1, kind: Bucket, spec: {list: [[1]], any: {a: [{}]}}}, patches: [{fromFieldPath: 'spec.list[0]', toFieldPath: 'spec.rules[*].ports[*]', transforms: [{type: map, map: {a: 1e3}}, {type: math}]}]}\n")))
	f.Add([]byte(pipeline("  environment: {patches: [{type: CombineToComposite, combine: {variables: [{fromFieldPath: 'a[1].b'}]}}]}\n  patchSets: [{patches: [{}]}]\n  resources: [{patches: [{type: PatchSet, patchSetName: ''}], readinessChecks: [{}], connectionDetails: [{}]}]\n")))
	f.Add([]byte(legacy("  patchSets: [{name: s, patches: [{type: ToCompositeFieldPath, fromFieldPath: status}]}]\n  resources: [{patches: [{type: PatchSet, patchSetName: s}]}, {name: a, base: {kind: Bucket, apiVersion: gold.test/v1, status: 1}}]\n")))
	f.Add([]byte(legacy("  environment: {patches: [{}]}\n  pipeline: [{step: a, input: {apiVersion: pt.fn.crossplane.io/v1, kind: Resources}}]\n")))
	schemas := known(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := composition.Decode(manifest.Document{Path: "f.yaml", Line: 3, Text: text})
		if err != nil {
			return
		}
		holds(t, check.Composition(t.Context(), e, options(schemas.Definition, check.ByAnnotation)))
	})
}

// FuzzPatch checks that any patch, with any schema, causes no panic, and that
// every problem has a field and a line.
func FuzzPatch(f *testing.F) {
	f.Add(`{"fromFieldPath":"spec.text"}`, `{"type":"object","properties":{"spec":{"type":"object"}}}`)
	f.Add(`{"type":"CombineToComposite","toFieldPath":"spec[*]","combine":{"strategy":"string","variables":[{"fromFieldPath":"a[0]"}]}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`)
	f.Add(`{"fromFieldPath":"spec.a","transforms":[{"type":"convert","convert":{"toType":"array","format":"json"}},{"type":"match","match":{"fallbackTo":"Input"}},{"type":"string","string":{"type":"Join"}}]}`, `{"type":"object","properties":{"spec":{"type":"object","nullable":true,"additionalProperties":{"x-kubernetes-int-or-string":true}}}}`)
	xrs := known(f)
	f.Fuzz(func(t *testing.T, patch, props string) {
		raw := fmt.Sprintf(`{"kind":"CustomResourceDefinition","spec":{"group":"gold.test","names":{"kind":"Bucket"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":%s}}]}}`, props)
		var obj map[string]any
		if json.Unmarshal([]byte(raw), &obj) != nil || json.Unmarshal([]byte(patch), &spec.Patch{}) != nil || strings.ContainsFunc(patch, unicode.IsControl) {
			return
		}
		def, err := schema.New(obj)
		if err != nil {
			return
		}
		schemas := schema.Definitions{def.GroupKind: def}
		for kind, known := range xrs {
			if kind != def.GroupKind {
				schemas[kind] = known
			}
		}
		e, err := composition.Decode(manifest.Document{Path: "f.yaml", Line: 3, Text: []byte(template("patches:\n- " + patch + "\n"))})
		if err != nil {
			return
		}
		holds(t, check.Composition(t.Context(), e, options(schemas.Definition, check.Strict)))
	})
}

func holds(t *testing.T, found []composition.Problem) {
	t.Helper()
	for _, p := range found {
		if p.Line < 3 || p.Field == "" || p.Text == "" || p.Kind == "" {
			t.Errorf("got %+v", p)
		}
	}
}

// BenchmarkComposition checks 10,000 templates with 100 patches each, to
// measure the time of one patch.
func BenchmarkComposition(b *testing.B) {
	const templates, patches = 10_000, 100
	from, to := "spec.text", "spec.rules[3].name"
	var in spec.Resources
	all := make([]spec.ComposedPatch, patches)
	for i := range all {
		all[i].Patch = spec.Patch{FromFieldPath: &from, ToFieldPath: &to, Transforms: []spec.Transform{{Type: spec.TransformMap, Map: map[string]json.RawMessage{"a": []byte(`"b"`)}}}}
	}
	for i := range templates {
		in.Resources = append(in.Resources, spec.Template{Name: fmt.Sprint(i), Base: []byte(`{"apiVersion":"gold.test/v1","kind":"Bucket"}`), Patches: all})
	}
	in.APIVersion, in.Kind = "pt.fn.crossplane.io/v1beta1", "Resources"
	e := entry(b, pipeline("  resources: []\n"))
	var err error
	if e.Spec.Pipeline[0].Input.Raw, err = json.Marshal(in); err != nil {
		b.Fatal(err)
	}
	schemas := known(b)
	b.ReportAllocs()
	for b.Loop() {
		if found := check.Composition(b.Context(), e, options(schemas.Definition, check.Strict)); len(found) != 0 {
			b.Fatal(found[0])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/templates/patches, "ns/patch")
}

// TestPatchSetsAreBounded: patch sets in a short input can expand to very many
// patches, so checking stops at a limit. A problem reports that it stopped.
func TestPatchSetsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("  patchSets:\n  - name: s\n    patches:\n" + strings.Repeat("    - {type: ToEnvironmentFieldPath, fromFieldPath: a}\n", 1000) + "  resources:\n")
	for i := range 101 {
		fmt.Fprintf(&b, "  - {name: r%d, base: {apiVersion: none.test/v1, kind: K%d}, patches: [{type: PatchSet, patchSetName: s}]}\n", i, i)
	}
	var got []string
	for _, p := range check.Composition(t.Context(), entry(t, pipeline(b.String())), options(known(t).Definition, check.Strict)) {
		if p.Kind != check.MissingSchema {
			got = append(got, p.Error())
		}
	}
	if want := "c.yaml:13: spec.pipeline[0].input.patchSets: the patch sets expand to so many patches that not all were checked"; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
