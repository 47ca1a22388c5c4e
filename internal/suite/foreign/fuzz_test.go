package foreign_test

import (
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/foreign"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// FuzzConvert converts arbitrary documents. A conversion must not panic, and the lines of its
// cases must be in the document.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: meta.dev.upbound.io/v1alpha1\nkind: CompositionTest\nmetadata: {name: a}\nspec: {xr: {}, compositionPath: ../a, assertResources: [{a: [(b)]}], observedResources: [{}]}\n",
		"apiVersion: meta.dev.upbound.io/v1alpha1\nkind: OperationTest\nmetadata: {name: a}\nspec: {operationPath: a, watchedResource: {}, requiredResources: [{}]}\n",
		"items:\n- {kind: A}\n- {apiVersion: meta.dev.upbound.io/v1alpha1, kind: CompositionTest, metadata: {name: a}, spec: {xr: {}}}\n",
		"common: {inputs: {xr: a, crds: [b]}, hooks: {pre-test: []}}\ntests: [{name: a, inputs: {claim: c}, patches: {connection-secret: true}, assertions: {xprin: [{type: Count, value: 1}]}}, 3]\n",
	} {
		f.Add([]byte(seed))
	}
	r := manifest.Reader{FS: afero.NewMemMapFs()}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := manifest.Document{Path: "t/xprin.yaml", Line: 1, Text: text}
		cases, _, err := foreign.Xprin(t.Context(), r, doc)
		if err != nil {
			cases = nil
		}
		cases = append(cases, foreign.Tests(t.Context(), r, doc)...)
		for _, c := range cases {
			if line := c.Line([]string{"expect", "objects", "[0]"}); line < 1 {
				t.Errorf("case %q is on line %d", c.Name, line)
			}
		}
		for _, c := range spec.FromConverted(doc.Path, cases).Cases {
			_, _ = c.Spec() // An error has been found in the document.
		}
	})
}
