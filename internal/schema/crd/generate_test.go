package crd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// objects returns the objects in a YAML file.
func objects(t testing.TB, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.Split(path, data)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, obj)
	}
	return all
}

// TestGenerate compares the CRDs with those of Crossplane v2.3 (ForCompositeResource and
// ForCompositeResourceClaim in crossplane-runtime). It ignores the owner, the status and
// the descriptions of Crossplane's own fields.
func TestGenerate(t *testing.T) {
	paths, err := filepath.Glob("testdata/xrd/*.crds.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
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
			got, err := crd.Generate(xrd)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(objects(t, path), got, undescribed); diff != "" {
				t.Errorf("other CRDs (-Crossplane +ours):\n%s", diff)
			}
		})
	}
}
