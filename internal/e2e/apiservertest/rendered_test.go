package apiservertest_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/e2e/apiservertest"
)

// compareRendered renders the examples whose composed resources are built-in kinds. It
// compares the results of xfn validate for the composed resources with what the server
// says when Crossplane applies them.
func compareRendered(t *testing.T, server *apiservertest.Server) {
	const xrd = "platform/apis/definition.yaml"
	cases := map[string]struct {
		xr, composition, functions string
		flags                      []string
	}{
		"Templates": {"templates/xr.yaml", "templates/composition.yaml", "templates/functions.yaml", nil},
		"Shop":      {"platform/examples/shop.yaml", "platform/apis/production.yaml", "platform/functions.yaml", []string{"--xrd", xrd}},
	}
	example := func(path string) string { return filepath.Join("..", "..", "..", "examples", filepath.FromSlash(path)) }
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := []string{example(tc.xr), example(tc.composition), example(tc.functions)}
			for _, f := range tc.flags {
				if f == xrd {
					f = example(f)
				}
				args = append(args, f)
			}
			rendered := render(t, args...)
			if len(rendered) < 2 {
				t.Fatal("xfn rendered no composed resources")
			}
			xr, composed := rendered[0], rendered[1:]
			file := write(t, "composed.yaml", composed...)
			got := results(t, file, composed...)
			for i, obj := range composed {
				compareVerdict(t, got[i], server.Apply(t, obj, owner(xr), apiservertest.Options{DryRun: true}))
			}
		})
	}
}

// render returns the XR that xfn rendered, followed by the composed resources.
func render(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	out, ok := xfn(t, append([]string{"render"}, args...)...)
	if !ok {
		t.Fatal("xfn cannot render")
	}
	return parse(t, out)
}

// owner returns the name of the field manager with which Crossplane applies the composed
// resources of an XR.
func owner(xr map[string]any) string {
	u := unstructured.Unstructured{Object: xr}
	hash := sha256.Sum256([]byte(u.GetName() + u.GroupVersionKind().GroupKind().String()))
	return fmt.Sprintf("apiextensions.crossplane.io/composed/%x", hash)
}
