package xpkg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	command "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

const (
	meta           = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: acme}\n"
	compositionXRD = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xwidgets.gold.test}
spec:
  group: gold.test
  scope: Cluster
  names: {kind: XWidget, plural: xwidgets}
  defaultCompositionRef: {name: widgets}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`
	widgets = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: a
        base: {apiVersion: other.test/v1, kind: Bucket, spec: {any: 1}}
        patches:
        - {fromFieldPath: spec.size, toFieldPath: spec.size}
`
)

// read reads a package, and returns the problems of the rule.
func read(t *testing.T, files map[string]string) (*xpkg.Package, []string) {
	t.Helper()
	pkg := e2e.Must(xpkg.Read(t.Context(), e2e.Memory(t, files), ".", xpkg.ReadOptions{Lint: xpkg.Warn, Rules: []xpkg.Rule{lint}}))(t)
	return pkg, texts(pkg.Warnings)
}

func texts(all xpkg.Problems) []string {
	var found []string
	for _, p := range all {
		if p.Rule == "composition" {
			found = append(found, fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text))
		}
	}
	return found
}

const misspelt = "kind XWidget of gold.test/v1 has no field spec.sice, did you mean spec.size?"

func TestCompositions(t *testing.T) {
	const at = "spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: "
	bad := strings.Replace(widgets, "fromFieldPath: spec.size", "fromFieldPath: spec.sice", 1)
	cases := map[string]struct {
		reason, composition string
		want                []string
	}{
		"Good":     {"kinds that the package does not define are not checked", widgets, nil},
		"Misspelt": {"kinds that the package defines are checked", "---\n" + bad, []string{"c.yaml:18: " + at + misspelt}},
		"Integrity": {
			"rules without schemas are checked", strings.Replace(widgets, "fromFieldPath: spec.size, ", "", 1),
			[]string{"c.yaml:17: " + at + "fromFieldPath must be set for patch type FromCompositeFieldPath"},
		},
		"Lost":         {"a value that Crossplane does not apply is a problem", strings.Replace(widgets, "{fromFieldPath", "{type: ToCompositeFieldPath, fromFieldPath", 1), []string{"c.yaml:17: " + strings.Replace(at, "from", "to", 1) + "a pipeline only changes the status of a composite resource, so spec.size is not applied, did you mean type: FromCompositeFieldPath?"}},
		"Doubtful":     {"fields that a function reads are not a problem", strings.Replace(widgets, "{fromFieldPath: spec.size, toFieldPath: spec.size}", "{fromFieldPath: spec.size}\n        readinessChecks: [{type: MatchString, fieldPath: status.a, matchString: ''}]", 1), nil},
		"UnknownField": {"lost fields are a problem of another rule", widgets + "  resources: []\n", nil},
		"Strict":       {"missing schemas are not a problem in any mode", strings.Replace(widgets, "{name: widgets}", "{name: widgets, annotations: {crossplane.io/composition-schema-aware-validation-mode: strict}}", 1), nil},
		"Version":      {"a version that the XRD lacks is a problem", strings.Replace(widgets, "gold.test/v1,", "gold.test/v2,", 1), []string{"c.yaml:5: spec.compositeTypeRef.apiVersion: kind XWidget has no version v2, only v1"}},
		"Kind":         {"a kind that is similar to the kind of an XRD is a problem", strings.Replace(widgets, "XWidget", "XWidgt", 1), []string{"c.yaml:5: spec.compositeTypeRef.kind: no XRD of the package defines kind XWidgt of group gold.test, did you mean XWidget?", "xrd.yaml:7: spec.names.kind: no Composition of the package is for kind XWidget"}},
		"OtherKind":    {"another kind may have its XRD in a dependency, but an XRD needs a Composition", strings.Replace(widgets, "XWidget", "XGadget", 1), []string{"xrd.yaml:7: spec.names.kind: no Composition of the package is for kind XWidget"}},
		"NoneAtAll":    {"a package of XRDs needs Compositions of another package", "", []string{"xrd.yaml:7: spec.names.kind: the package has no Composition for this XRD"}},
		"Watch":        {"a kind that is similar to the kind of an XRD is a problem of a WatchOperation", widgets + "---\napiVersion: ops.crossplane.io/v1alpha1\nkind: WatchOperation\nmetadata: {name: w}\nspec:\n  watch: {apiVersion: gold.test/v1, kind: XWidgets}\n  operationTemplate: {spec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: f}}]}}\n", []string{"c.yaml:23: spec.watch.kind: no XRD of the package defines kind XWidgets of group gold.test, did you mean XWidget?"}},
		"Default":      {"a default that is not among the Compositions for the XRD is a problem", strings.Replace(widgets, "{name: widgets}", "{name: widget}", 1), []string{"xrd.yaml:8: spec.defaultCompositionRef.name: the package has Compositions for this kind, but none with the name \"widgets\", did you mean widget?"}},
		"OtherMode":    {"a Composition that cannot be rendered is a problem", strings.Replace(widgets, "mode: Pipeline", "mode: Resources", 1), []string{"c.yaml:4: spec.resources: a Composition of mode Resources must have resources"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, map[string]string{"crossplane.yaml": meta, "xrd.yaml": compositionXRD, "c.yaml": tc.composition})
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// xpkg.Lint finds the same problems in a built package as xpkg.Read in the package root.
// At the level Strict, Read returns the problems as an error.
func TestLevels(t *testing.T) {
	files := map[string]string{"crossplane.yaml": meta, "xrd.yaml": compositionXRD, "c.yaml": strings.Replace(widgets, "fromFieldPath: spec.size", "fromFieldPath: spec.sice", 1)}
	pkg, found := read(t, files)
	if len(found) != 1 {
		t.Fatalf("got %q", found)
	}
	report := e2e.Must(xpkg.Lint(t.Context(), e2e.Must(xpkg.Build(pkg, nil, xpkg.BuildOptions{}))(t), nil, lint))(t)
	if got := texts(report.Problems); len(got) != 1 || !strings.HasPrefix(got[0], "package.yaml:") || !strings.HasSuffix(got[0], misspelt) {
		t.Errorf("got %q", got)
	}
	var problems xpkg.Problems
	if _, err := xpkg.Read(t.Context(), e2e.Memory(t, files), ".", xpkg.ReadOptions{Rules: []xpkg.Rule{lint}}); !errors.As(err, &problems) || len(texts(problems)) != 1 {
		t.Errorf("at the level Strict: got %v", err)
	}
}

// xpkg.LintRules lists the rule composition with the severity warning.
func TestCompositionsIsListed(t *testing.T) {
	for _, r := range xpkg.LintRules() {
		if r.Name == "composition" && r.Severity == "warning" {
			return
		}
	}
	t.Error("xpkg.LintRules has no rule composition of severity warning")
}

// LintCompositions stops when the context is done, and ignores Compositions of other
// API groups.
func TestCompositionsStops(t *testing.T) {
	objects := []xpkg.Document{
		{Object: xpkg.Object{Kind: "Composition", APIVersion: "other.test/v1"}},
		{Object: xpkg.Object{Kind: "Composition"}},
	}
	objects[0].Text = []byte("{apiVersion: other.test/v1, kind: Composition}")
	objects[1].Text = []byte("{apiVersion: apiextensions.crossplane.io/v1, kind: Composition}")
	if got := lint(t.Context(), objects); len(got) == 0 || len(got) > 2 {
		t.Errorf("got %v, want the problems of the second", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := lint(ctx, objects); got != nil {
		t.Errorf("after the context is done: got %v", got)
	}
}

// lint is the rule without packages of functions.
var lint = command.LintCompositions(func(context.Context) (composition.Inputs, error) { return nil, nil })
