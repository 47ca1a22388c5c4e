package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// compareRendered renders the examples whose composed resources are built-in kinds. It
// compares the results of xfn validate for the composed resources with what the server
// says when Crossplane applies them.
func compareRendered(t *testing.T, server *apiServer) {
	const xrd = "platform/apis/definition.yaml"
	cases := map[string]struct {
		xr, composition, functions string
		flags                      []string
	}{
		"Templates": {"templates/xr.yaml", "templates/composition.yaml", "templates/functions.yaml", nil},
		"Shop":      {"platform/examples/shop.yaml", "platform/apis/production.yaml", "platform/functions.yaml", []string{"--xrd", xrd}},
	}
	example := func(path string) string { return filepath.Join("..", "..", "examples", filepath.FromSlash(path)) }
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := []string{example(tc.xr), example(tc.composition), example(tc.functions)}
			for _, f := range tc.flags {
				if f == xrd {
					f = example(f)
				}
				args = append(args, f)
			}
			rendered := renderObjects(t, args...)
			if len(rendered) < 2 {
				t.Fatal("xfn rendered no composed resources")
			}
			xr, composed := rendered[0], rendered[1:]
			file := writeObjects(t, "composed.yaml", composed...)
			got := validateResults(t, file, composed...)
			for i, obj := range composed {
				compareVerdict(t, got[i], server.Apply(t, obj, fieldManager(xr), writeOptions{DryRun: true}))
			}
		})
	}
}

// renderObjects returns the XR that xfn rendered, followed by the composed resources.
func renderObjects(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	out, ok := runXFN(t, append([]string{"render"}, args...)...)
	if !ok {
		t.Fatal("xfn cannot render")
	}
	return parseObjects(t, out)
}

// fieldManager returns the name of the field manager with which Crossplane applies the composed
// resources of an XR.
func fieldManager(xr map[string]any) string {
	u := unstructured.Unstructured{Object: xr}
	hash := sha256.Sum256([]byte(u.GetName() + u.GroupVersionKind().GroupKind().String()))
	return fmt.Sprintf("apiextensions.crossplane.io/composed/%x", hash)
}
