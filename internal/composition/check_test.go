package composition_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// pipeline is a Composition with steps that begin on line 8.
func pipeline(steps string) string {
	return `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
  mode: Pipeline
  pipeline:
` + steps
}

func check(t *testing.T, doc manifest.Document) []composition.Problem {
	t.Helper()
	c, err := composition.Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	return composition.Check(c, func(function string) bool {
		return strings.HasPrefix(function, "function-") && function != "function-patch-and-transform"
	})
}

func TestCheck(t *testing.T) {
	const head = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\n"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Good": {"a step with everything has no problem", pipeline(`  - step: make
    functionRef: {name: function-a}
    input: {kind: Anything, step: x, functonRef: y}
    credentials:
    - {name: a, source: Secret, secretRef: {namespace: n, name: s}}
    - {name: b, source: None}
    requirements:
      requiredResources:
      - {requirementName: r, apiVersion: v1, kind: A, name: x, namespace: n}
      - {requirementName: all, apiVersion: v1, kind: A}
      requiredSchemas:
      - {requirementName: r, apiVersion: v1, kind: A}
  - step: again
    functionRef: {name: function-a}
    credentials: [{name: a, source: None}]
`), nil},
		"NoMode": {"a mode has to be set, and what else is wrong is said, too", head + "spec:\n  compositeTypeRef: {}\n", []string{
			"3 spec.mode UnknownMode: no mode is set, and only Pipeline and Resources can be rendered",
			"3 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"OtherMode": {"a mode without a pipeline needs none", head + "spec:\n  mode: Magic\n", []string{
			`4 spec.mode UnknownMode: "Magic" is not a mode that can be rendered: only Pipeline and Resources are`,
		}},
		"Legacy": {"a legacy Composition is checked as the pipeline that it is, at the lines that it has", head + "spec:\n  resources:\n  - {name: one, bese: {}}\n  typo: 1\n", []string{
			`4 spec.pipeline[0].functionRef.name UnknownFunction: the step "patch-and-transform" calls function "function-patch-and-transform", which is not there`,
			"5 spec.resources[0].bese NotCarried: unknown field: the API server drops it",
			"6 spec.typo UnknownField: a Composition has no such field, so the API server drops it",
		}},
		"LegacyEmpty": {"a legacy Composition needs resources", head + "spec:\n  mode: Resources\n", []string{
			"3 spec.resources UnknownMode: a Composition of mode Resources must have resources",
		}},
		"LegacyMisfit": {"a legacy Composition that cannot be converted is told as one", head + "spec:\n  resources:\n  - {name: [x]}\n", []string{
			"4 spec.resources.name UnknownMode: cannot decode a JSON array",
		}},
		"LegacyPipeline": {"a pipeline of mode Resources is one if there is nothing else", head + "spec:\n  mode: Resources\n  pipeline:\n  - {step: one, functionRef: {name: absent}}\n", []string{
			"4 spec.mode NotCarried: the pipeline is used, since there are no resources: Crossplane would reject the Composition",
			`6 spec.pipeline[0].functionRef.name UnknownFunction: the step "one" calls function "absent", which is not there`,
		}},
		"Alpha": {"functions of the alpha are no steps", head + "spec:\n  functions:\n  - {name: one}\n", []string{
			"4 spec.functions UnknownMode: functions of the alpha are rendered in profile alpha alone",
		}},
		"ModeIsCaseSensitive": {"a mode is exactly so", head + "spec:\n  mode: pipeline\n  pipeline: []\n", []string{
			`4 spec.mode UnknownMode: "pipeline" is not a mode that can be rendered: only Pipeline and Resources are`,
		}},
		"EmptyPipeline": {"a pipeline needs a step", head + "spec:\n  mode: Pipeline\n  pipeline: []\n", []string{
			"5 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"NoPipeline": {"a pipeline that is not there stands where it should", head + "spec:\n  mode: Pipeline\n", []string{
			"3 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"NoSpec": {"all may be missing", head, []string{
			"1 spec.mode UnknownMode: no mode is set, and only Pipeline and Resources can be rendered",
			"1 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"DuplicateStep": {"each repetition names the first", pipeline(`  - step: make
    functionRef: {name: function-a}
  - functionRef: {name: function-b}
    step: make
  - {step: make, functionRef: {name: function-c}}
`), []string{
			`11 spec.pipeline[1].step DuplicateStep: the name "make" is also the name of spec.pipeline[0]`,
			`12 spec.pipeline[2].step DuplicateStep: the name "make" is also the name of spec.pipeline[0]`,
		}},
		"NoStepNames": {"two missing names are one name twice to some engines", pipeline(`  - functionRef: {name: function-a}
  - functionRef: {name: function-b}
`), []string{
			"8 spec.pipeline[0].step StepWithoutName: no name is set",
			"9 spec.pipeline[1].step StepWithoutName: no name is set",
			`9 spec.pipeline[1].step DuplicateStep: the name "" is also the name of spec.pipeline[0]`,
		}},
		"Functions": {"a function has to be named and to be there; a misspelt field is why it is not", pipeline(`  - step: one
  - step: two
    functonRef: {name: function-a}
  - step: three
    functionRef:
      name: absent
  - step: four
    functionRef: {}
  - step: five
    functionRef: {name: absent}
`), []string{
			`8 spec.pipeline[0].functionRef.name StepWithoutFunction: the step "one" names no function`,
			`9 spec.pipeline[1].functionRef.name StepWithoutFunction: the step "two" names no function`,
			"10 spec.pipeline[1].functonRef UnknownField: a Composition has no such field, so the API server drops it",
			`13 spec.pipeline[2].functionRef.name UnknownFunction: the step "three" calls function "absent", which is not there`,
			`15 spec.pipeline[3].functionRef.name StepWithoutFunction: the step "four" names no function`,
			`17 spec.pipeline[4].functionRef.name UnknownFunction: the step "five" calls function "absent", which is not there`,
		}},
		"Credentials": {"credentials have a name, a source and what the source needs", pipeline(`  - step: make
    functionRef: {name: function-a}
    credentials:
    - {name: a, source: Secret}
    - {name: a, source: None}
    - source: None
    - {name: b, source: Vault}
    - name: c
    - name: d
      source: Secret
      secretRef:
        namespace: n
`), []string{
			"11 spec.pipeline[0].credentials[0].secretRef.name CredentialWithoutSecret: the source is a Secret, but none is named",
			`12 spec.pipeline[0].credentials[1].name DuplicateCredential: the name "a" is also the name of spec.pipeline[0].credentials[0]`,
			"13 spec.pipeline[0].credentials[2].name CredentialWithoutName: no name is set",
			`14 spec.pipeline[0].credentials[3].source UnknownCredentialSource: "Vault" is not a source: Secret and None are`,
			`15 spec.pipeline[0].credentials[4].source UnknownCredentialSource: "" is not a source: Secret and None are`,
			"18 spec.pipeline[0].credentials[5].secretRef.name CredentialWithoutSecret: the source is a Secret, but none is named",
		}},
		"Requirements": {"requirements have a name, a type and one way to select", pipeline(`  - step: make
    functionRef: {name: function-a}
    requirements:
      requiredResources:
      - {requirementName: a, apiVersion: v1, kind: A}
      - requirementName: a
        kind: A
      - apiVersion: v1
        kind: A
      - requirementName: b
        apiVersion: v1
        kind: A
        name: x
        matchLabels:
          c: d
      requiredSchemas:
      - {requirementName: a, apiVersion: v1}
      - {requirementName: a, apiVersion: v1, kind: A}
`), []string{
			`13 spec.pipeline[0].requirements.requiredResources[1].requirementName DuplicateRequirement: the name "a" is also the name of spec.pipeline[0].requirements.requiredResources[0]`,
			"13 spec.pipeline[0].requirements.requiredResources[1].apiVersion RequirementWithoutType: no apiVersion is set",
			"15 spec.pipeline[0].requirements.requiredResources[2].requirementName RequirementWithoutName: no name is set",
			"21 spec.pipeline[0].requirements.requiredResources[3].matchLabels RequirementByNameAndByLabel: resources are selected by name, too, and only one of the two can count",
			"24 spec.pipeline[0].requirements.requiredSchemas[0].kind RequirementWithoutType: no kind is set",
			`25 spec.pipeline[0].requirements.requiredSchemas[1].requirementName DuplicateRequirement: the name "a" is also the name of spec.pipeline[0].requirements.requiredSchemas[0]`,
		}},
		"Fields": {"a field of another spelling or place is none, at any depth", pipeline(`  - step: make
    functionRef: {name: function-a, kind: Function}
    Input: {}
  writeTo: here
metadata2: {}
`), []string{
			"9 spec.pipeline[0].functionRef.kind UnknownField: a Composition has no such field, so the API server drops it",
			"10 spec.pipeline[0].Input UnknownField: a Composition has no such field, so the API server drops it",
			"11 spec.writeTo UnknownField: a Composition has no such field, so the API server drops it",
			"12 metadata2 UnknownField: a Composition has no such field, so the API server drops it",
		}},
		"Alias": {"a problem that an alias brings stands where it was written", pipeline(`  - step: one
    functionRef: &ref
      name: absent
  - step: two
    functionRef: *ref
`), []string{
			`10 spec.pipeline[0].functionRef.name UnknownFunction: the step "one" calls function "absent", which is not there`,
			`10 spec.pipeline[1].functionRef.name UnknownFunction: the step "two" calls function "absent", which is not there`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range check(t, document(tc.text)) {
				got = append(got, fmt.Sprintf("%d %s %s: %s", p.Line, p.Field, p.Kind, p.Text))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckWithoutFunctions(t *testing.T) {
	doc := document(pipeline("  - {step: one, functionRef: {name: absent}}\n"))
	c, err := composition.Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := composition.Check(c, nil); got != nil {
		t.Errorf("who does not know the functions does not miss any: got %v", got)
	}
}

func TestProblemIsAnError(t *testing.T) {
	doc := manifest.Document{Path: "dir/c.yaml", Line: 5, Text: []byte(pipeline("  - step: one\n"))}
	var problem composition.Problem
	if err := errors.Join(check(t, doc)[0]); !errors.As(err, &problem) {
		t.Fatalf("got %v", err)
	}
	const want = `dir/c.yaml:12: spec.pipeline[0].functionRef.name: the step "one" names no function`
	if got := problem.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGoldenCompositions checks the Compositions that real engines were given:
// where all of them rendered, nothing but unknown fields is found, and each
// problem that the cases were made for is.
func TestGoldenCompositions(t *testing.T) {
	want := map[string][]composition.ProblemKind{
		"bad-check-order":        {composition.NotCarried, composition.UnknownFunction},
		"basic-empty-pipeline":   {composition.EmptyPipeline},
		"comp-no-pipeline":       {composition.EmptyPipeline},
		"comp-mode-absent":       {composition.UnknownMode},
		"comp-mode-resources":    {composition.NotCarried},
		"comp-env-config":        {composition.UnknownField},
		"comp-unknown-fields":    {composition.UnknownField},
		"fn-missing":             {composition.UnknownFunction},
		"fn-missing-second-step": {composition.UnknownFunction},
		"fn-not-a-function":      {composition.UnknownFunction},
	}
	paths, err := filepath.Glob("../../testdata/golden/render/*/composition.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	r := manifest.Reader{FS: afero.NewOsFs()}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			doc, _, err := r.First(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			c, err := composition.Decode(doc)
			if err != nil {
				return // which is what the case is for
			}
			var functions []string
			docs, err := r.All(t.Context(), filepath.Join(filepath.Dir(path), "functions.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				functions = append(functions, string(d.Text))
			}
			var got []composition.ProblemKind
			for _, p := range composition.Check(c, func(function string) bool {
				return strings.Contains(strings.Join(functions, ""), "name: "+function+"\n")
			}) {
				got = append(got, p.Kind)
			}
			if !slices.Equal(want[name], got) {
				t.Errorf("got %v, want %v", got, want[name])
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(widgets))
	f.Add([]byte(pipeline("  - {step: one, credentials: [{}], requirements: {requiredResources: [{}]}, x: &x [1], y: *x}\n")))
	f.Add([]byte("apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec: {mode: Resources, resources: [{x: 1}], pipeline: [{}]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := manifest.Document{Path: "f.yaml", Line: 3, Text: text}
		c, err := composition.Decode(doc)
		if err != nil {
			return
		}
		for _, p := range composition.Check(c, func(string) bool { return false }) {
			if p.Line < 3 || p.Field == "" || p.Text == "" {
				t.Errorf("got %+v", p)
			}
		}
	})
}
