package coverage_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

const composed = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline:
  - step: one
    functionRef: {name: function-one}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: a
        patches:
        - fromFieldPath: spec.a
        - fromFieldPath: spec.b
  - step: two
    functionRef: {name: function-two}
`

const definition = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              size: {type: string, default: small}
              count: {type: integer}
              list: {type: array, items: {properties: {x: {type: string}, z: {type: string}}}}
              tags: {type: object, additionalProperties: {type: string}}
`

func parse(t *testing.T, path, text string) manifest.Document {
	t.Helper()
	docs := e2e.Must(manifest.Split(path, []byte(text)))(t)
	return docs[0]
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	return e2e.Must(parse(t, "object.yaml", text).Object())(t)
}

// points are the points of the step called one.
var points = []sdk.Point{
	{Kind: sdk.ComposedTemplate, Path: "resources[0]"},
	{Kind: sdk.PatchPoint, Path: "resources[0].patches[0]"},
	{Kind: sdk.PatchPoint, Path: "resources[0].patches[1]"},
	{Kind: sdk.TemplateBranch, File: "t.tmpl", Line: 3, Branch: "else"},
}

// recorded returns a Recorder of a render with some steps. The step called "one" hits points.
func recorded(t *testing.T, steps, mocked string, hits ...sdk.Point) *coverage.Recorder {
	t.Helper()
	r := &coverage.Recorder{}
	runner := r.Wrap(function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		if c := sdk.CoverageOf(ctx); c != nil && function.Step(ctx) == "one" {
			c.Known(points)
			for _, p := range hits {
				c.Hit(p)
			}
		}
		return &fnv1.RunFunctionResponse{}, nil
	}), func(step string) bool { return step == mocked })
	for _, step := range strings.Fields(steps) {
		e2e.NoError(t, e2e.Err(runner.RunFunction(function.WithStep(t.Context(), step), "f", &fnv1.RunFunctionRequest{})))
	}
	return r
}

// TestText compares the text about several cases of a Composition.
func TestText(t *testing.T) {
	t.Parallel()
	missing := points[2]
	missing.Branch = sdk.SourceMissing
	for name, tc := range map[string]struct {
		reason    string
		recorders []*coverage.Recorder
		xrs       []string // spec of the composite resource of each recorder
		want      string
	}{
		"Steps": {
			"a step that did not run has no parts, and a mocked step does not count as run",
			[]*coverage.Recorder{recorded(t, "one two", "one")},
			[]string{"{}"},
			`coverage of c.yaml:1 things: 50% of 2 parts, by 1 case
    steps 1/2
        c.yaml:8: not covered: step spec.pipeline[0] (one)
`,
		},
		"Several": {
			"a part is covered if one of several cases runs it, and a template has the line in its own file",
			[]*coverage.Recorder{recorded(t, "one", "", points[0], points[1]), recorded(t, "one two", "", points[0])},
			[]string{"{}", "{}"},
			`coverage of c.yaml:1 things: 66.6% of 6 parts, by 2 cases
    steps 2/2, composed resources 1/1, patches 1/2, template branches 0/1
        c.yaml:17: not covered: patch spec.pipeline[0].input.resources[0].patches[1]
        t.tmpl:3: not covered: template branch (else)
`,
		},
		"SourceMissing": {
			"a patch whose optional source never had a value is not covered",
			[]*coverage.Recorder{recorded(t, "one two", "", points[0], points[1], points[3], missing)},
			[]string{"{}"},
			`coverage of c.yaml:1 things: 83.3% of 6 parts, by 1 case
    steps 2/2, composed resources 1/1, patches 1/2, template branches 1/1
        c.yaml:17: not covered: patch spec.pipeline[0].input.resources[0].patches[1]: its source had no value in any case
`,
		},
		"Fields": {
			"a field is set if a case sets it to something else than its default, in any element of a list",
			[]*coverage.Recorder{recorded(t, "one two", "", points...), recorded(t, "one two", "")},
			[]string{"{size: small, list: [{x: a}, {x: b}]}", "{tags: {k: v}, list: [{}]}"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := e2e.Must(composition.Decode(parse(t, "c.yaml", composed)))(t)
			var c coverage.Collector
			for i, r := range tc.recorders {
				one := coverage.Case{Composition: entry, Recorder: r}
				if name == "Fields" {
					one.XRD, one.XR = object(t, definition), object(t, "{apiVersion: example.org/v1, kind: XThing, spec: "+tc.xrs[i]+"}")
					one.Composed = map[string]map[string]any{"a": object(t, "{apiVersion: v1, kind: K, metadata: {name: a, labels: {crossplane.io/composite: x, own: y}}, spec: {l: [{x: 1}, {x: 2}], z: 3}}")}
					one.Checked = func(_, path string) bool { return i == 1 && path == "spec.z" }
				}
				c.Add(one)
			}
			var b bytes.Buffer
			e2e.NoError(t, coverage.WriteText(&b, c.Report(), true))
			if name == "Fields" {
				got := c.Report().Compositions[0]
				unset := []string{"spec.count", "spec.list[*].z", "spec.size"}
				unchecked := []coverage.Field{{Resource: "a", Path: "metadata.labels.own"}, {Resource: "a", Path: "spec.l[*].x"}}
				if got.XRFields != 5 || !cmp.Equal(unset, got.UnsetXRFields) || got.ComposedFields != 3 || !cmp.Equal(unchecked, got.UncheckedFields) {
					t.Errorf("%s: got %d, %v, %d, %v", tc.reason, got.XRFields, got.UnsetXRFields, got.ComposedFields, got.UncheckedFields)
				}
				return
			}
			text, _, _ := strings.Cut(b.String(), "coverage: ")
			e2e.Equal(t, tc.reason, tc.want, text)
		})
	}
}

// TestFiles checks the lines of the reports for CI, and that the page escapes the Composition.
func TestFiles(t *testing.T) {
	t.Parallel()
	entry := e2e.Must(composition.Decode(parse(t, "c.yaml", strings.Replace(composed, "{name: things}", `{name: "<b>"}`, 1))))(t)
	var c coverage.Collector
	c.Add(coverage.Case{Composition: entry, Recorder: recorded(t, "one", "", points[0], points[1])})
	for name, tc := range map[string]struct {
		write func(io.Writer, coverage.Report) error
		want  []string
		not   string
	}{
		"profile":   {coverage.WriteProfile, []string{"mode: set\n", "c.yaml:14.1,14.16 1 1\n", "c.yaml:17.1,17.32 1 0\n", "t.tmpl:3.1,4.1 1 0\n"}, "\n\n"},
		"cobertura": {coverage.WriteCobertura, []string{`<line number="16" hits="1"`, `<line number="17" hits="0"`, `filename="t.tmpl"`, `lines-covered="3" lines-valid="6"`}, "<b>"},
		"page":      {coverage.WritePage, []string{"&lt;b&gt;", "fromFieldPath: spec.b"}, "<b>"},
	} {
		var b bytes.Buffer
		e2e.NoError(t, tc.write(&b, c.Report()))
		for _, want := range tc.want {
			e2e.Has(t, "the "+name, b.String(), want)
		}
		if strings.Contains(b.String(), tc.not) {
			t.Errorf("the %s has %q", name, tc.not)
		}
	}
}
