package generate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

const autoReady = crossplane + "  dependencies:\n  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Function, package: xpkg.crossplane.io/crossplane-contrib/function-auto-ready, version: v0.5.0}}\n"

// An XRD comes from an example, and a Composition and another example from the XRD.
func TestAPIFromExample(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{project.File: autoReady, "xr.yaml": `apiVersion: example.org/v1
kind: Policy
metadata: {name: a, namespace: default}
spec: {size: small, count: 3, ratio: 1.5, "on": true, "no": null, list: [], ports: [{a: 1}, {a: 1.5, b: x}], mixed: [1, a], crossplane: {compositionRef: {name: x}}}
status: {ready: "yes", conditions: []}
`})
	p := open(t, filepath.Join(dir, project.File))
	xrd := e2e.Must(generate.XRD(t.Context(), p, filepath.Join(dir, "xr.yaml"), generate.XRDOptions{}))(t)
	e2e.Equal(t, "the XRD is in the folder of its plural name", filepath.Join(dir, "apis", "policies", "definition.yaml"), xrd)
	text := strings.Join(strings.Fields(e2e.ReadFile(t, xrd)), " ")
	for _, want := range []string{
		"name: policies.example.org", "scope: Namespaced", "size: type: string", "count: type: integer", "ratio: type: number",
		`"on": type: boolean`, `"no": x-kubernetes-preserve-unknown-fields: true`, "list: items: x-kubernetes-preserve-unknown-fields: true type: array",
		"ports: items: properties: a: type: number b: type: string type: object", "mixed: items: x-kubernetes-preserve-unknown-fields: true",
		"properties: ready: type: string type: object",
	} {
		e2e.Has(t, "the XRD has a schema for each value of the example", text, want)
	}
	if strings.Contains(text, "compositionRef") {
		t.Errorf("the XRD has a field of Crossplane: %s", text)
	}
	e2e.ErrorHas(t, "an XRD that exists is not replaced", e2e.Err(generate.XRD(t.Context(), p, "xr.yaml", generate.XRDOptions{})), "already defines kind Policy")
	composition := e2e.Must(generate.Composition(t.Context(), p, xrd, generate.APIOptions{Name: "fast"}))(t)
	want := `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: fast.policies.example.org
spec:
  compositeTypeRef:
    apiVersion: example.org/v1
    kind: Policy
  mode: Pipeline
  pipeline:
  - functionRef:
      name: crossplane-contrib-function-auto-ready
    step: crossplane-contrib-function-auto-ready
`
	if diff := cmp.Diff(want, e2e.ReadFile(t, composition)); diff != "" || filepath.Base(composition) != "composition-fast.yaml" {
		t.Errorf("%s (-want +got):\n%s", composition, diff)
	}
	if _, _, err := generate.Function(t.Context(), p, generate.FunctionOptions{Name: "compose", Language: "go-templating", Pipeline: composition}); err != nil {
		t.Error(err)
	}
	e2e.ErrorHas(t, "a Composition is not for a Composition", e2e.Err(generate.Composition(t.Context(), p, composition, generate.APIOptions{})), "expected a CompositeResourceDefinition, got Composition")
}

func TestCompositionAddsItsDependency(t *testing.T) {
	for name, tc := range map[string]struct{ reason, file, want string }{
		"New": {
			"the dependency is added without a network, and comments stay", crossplane + "  # Ours.\n",
			crossplane + "  # Ours.\n  dependencies:\n  - type: xpkg\n    xpkg:\n      apiVersion: pkg.crossplane.io/v1\n      kind: Function\n      package: xpkg.crossplane.io/crossplane-contrib/function-auto-ready\n      version: '>=v0.0.0'\n",
		},
		"Known": {"an existing dependency keeps its version", autoReady, autoReady},
	} {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{project.File: tc.file, "xrd.yaml": `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  names: {kind: App, plural: apps}
  versions:
  - {name: v1, served: true, referenceable: true}
`})
			path := filepath.Join(dir, project.File)
			e2e.Must(generate.Composition(t.Context(), open(t, path), filepath.Join(dir, "xrd.yaml"), generate.APIOptions{}))(t)
			e2e.Equal(t, tc.reason, tc.want, e2e.ReadFile(t, path))
		})
	}
}

func TestXR(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, in, want string
		options          generate.XROptions
	}{
		"XRD": {
			"the example has the required fields, with defaults and the first values of enums",
			strings.Replace(xrd, "properties: {size: {type: string}}", "required: [size, num, f, in, l], properties: {size: {type: string, enum: [small, large]}, num: {type: integer, default: 2}, f: {type: number, minimum: 3}, in: {type: object, required: [name], properties: {name: {type: string}}}, l: {type: array, minItems: 1, items: {type: boolean}}, free: {type: string}}", 1),
			"---\napiVersion: platform.example.org/v1alpha1\nkind: App\nmetadata:\n  name: example\n  namespace: default\nspec:\n  f: 3\n  in:\n    name: name\n  l:\n  - false\n  num: 2\n  size: small\n",
			generate.XROptions{},
		},
		"Claim": {
			"the XR refers to its claim, and its name has a suffix that is the same in each run",
			"apiVersion: example.org/v1\nkind: App\nmetadata: {name: a, namespace: team, labels: {crossplane.io/composite: x, k: v}}\nspec: {size: 1}\n",
			"---\napiVersion: example.org/v1\nkind: XApp\nmetadata:\n  labels:\n    crossplane.io/claim-name: a\n    crossplane.io/claim-namespace: team\n    k: v\n  name: a-65f83\nspec:\n  claimRef:\n    apiVersion: example.org/v1\n    kind: App\n    name: a\n    namespace: team\n  size: 1\n",
			generate.XROptions{},
		},
		"Direct": {
			"the flags replace the name, the kind and the UID",
			"apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspec: {size: 1}\n",
			"---\napiVersion: example.org/v1\nkind: K\nmetadata:\n  name: b\n  uid: \"1\"\nspec:\n  size: 1\n",
			generate.XROptions{Direct: true, Name: "b", Kind: "K", UID: "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			xr := e2e.Must(generate.XR(e2e.Must(manifest.Objects("in.yaml", []byte(tc.in)))(t)[0], tc.options))(t)
			var b strings.Builder
			e2e.NoError(t, manifest.Write(&b, xr))
			e2e.Equal(t, tc.reason, tc.want, b.String())
		})
	}
	for reason, obj := range map[string]map[string]any{
		"an object without a spec is not a claim": {"apiVersion": "example.org/v1", "kind": "App"},
		"an apiVersion has at most one slash":     {"apiVersion": "example.org/v1/v2", "kind": "App", "spec": map[string]any{}},
		"a Composition is not a claim":            {"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "spec": map[string]any{}},
	} {
		if _, err := generate.XR(obj, generate.XROptions{}); err == nil {
			t.Error(reason)
		}
	}
}
