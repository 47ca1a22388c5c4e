package composition_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// pipeline returns a Composition whose steps begin on line 8.
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
	c := e2e.Must(composition.Decode(doc))(t)
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
		"NoMode": {"a mode is required, and other problems are reported too", head + "spec:\n  compositeTypeRef: {}\n", []string{
			"3 spec.mode UnknownMode: no mode is set: only Pipeline and Resources are supported",
			"3 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"OtherMode": {"an unknown mode requires no pipeline", head + "spec:\n  mode: Magic\n", []string{
			`4 spec.mode UnknownMode: expected mode Pipeline or Resources, got "Magic"`,
		}},
		"Legacy": {"a legacy Composition is checked as a pipeline, with its own lines", head + "spec:\n  resources:\n  - {name: one, bese: {}}\n  typo: 1\n", []string{
			`4 spec.resources UnknownFunction: the step "patch-and-transform" calls the function "function-patch-and-transform", which was not found`,
			"5 spec.resources[0].bese UnknownField: unknown field: the API server drops it, did you mean base?",
			"6 spec.typo UnknownField: unknown field of a Composition: the API server drops it",
		}},
		"LegacyNear": {"a misspelled field of mode Resources has a suggestion", head + "spec:\n  mode: Resources\n  enviroment: {}\n  patchsets: []\n  resources:\n  - {name: one}\n", []string{
			"5 spec.enviroment UnknownField: unknown field of a Composition: the API server drops it, did you mean environment?",
			"6 spec.patchsets UnknownField: unknown field of a Composition: the API server drops it, did you mean patchSets?",
			`7 spec.resources UnknownFunction: the step "patch-and-transform" calls the function "function-patch-and-transform", which was not found`,
		}},
		"LegacyEmpty": {"a legacy Composition requires resources", head + "spec:\n  mode: Resources\n", []string{
			"3 spec.resources UnknownMode: a Composition of mode Resources must have resources",
		}},
		"LegacyMisfit": {"a legacy Composition that cannot be converted is one problem", head + "spec:\n  resources:\n  - {name: [x]}\n", []string{
			"4 spec.resources.name UnknownMode: cannot decode a JSON array",
		}},
		"LegacyPipeline": {"mode Resources with only a pipeline uses the pipeline", head + "spec:\n  mode: Resources\n  pipeline:\n  - {step: one, functionRef: {name: absent}}\n", []string{
			"4 spec.mode NotCarried: the pipeline is used, since there are no resources: Crossplane would reject the Composition",
			`6 spec.pipeline[0].functionRef.name UnknownFunction: the step "one" calls the function "absent", which was not found`,
		}},
		"Alpha": {"alpha functions are not converted to steps", head + "spec:\n  functions:\n  - {name: one}\n", []string{
			"4 spec.functions UnknownMode: alpha functions can only be rendered in profile alpha",
		}},
		"ModeIsCaseSensitive": {"a mode is case-sensitive", head + "spec:\n  mode: pipeline\n  pipeline: []\n", []string{
			`4 spec.mode UnknownMode: expected mode Pipeline or Resources, got "pipeline"`,
		}},
		"EmptyPipeline": {"a pipeline requires a step", head + "spec:\n  mode: Pipeline\n  pipeline: []\n", []string{
			"5 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"NoPipeline": {"the line of a missing pipeline is the line of the spec", head + "spec:\n  mode: Pipeline\n", []string{
			"3 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"NoSpec": {"an empty Composition has problems for missing fields", head, []string{
			"1 spec.mode UnknownMode: no mode is set: only Pipeline and Resources are supported",
			"1 spec.pipeline EmptyPipeline: the pipeline has no steps",
		}},
		"DuplicateStep": {"the problem of a duplicate names the first occurrence", pipeline(`  - step: make
    functionRef: {name: function-a}
  - functionRef: {name: function-b}
    step: make
  - {step: make, functionRef: {name: function-c}}
`), []string{
			`11 spec.pipeline[1].step DuplicateStep: the name "make" is also the name of spec.pipeline[0]`,
			`12 spec.pipeline[2].step DuplicateStep: the name "make" is also the name of spec.pipeline[0]`,
		}},
		"NoStepNames": {"two missing names are also duplicates", pipeline(`  - functionRef: {name: function-a}
  - functionRef: {name: function-b}
`), []string{
			"8 spec.pipeline[0].step StepWithoutName: no name is set",
			"9 spec.pipeline[1].step StepWithoutName: no name is set",
			`9 spec.pipeline[1].step DuplicateStep: the name "" is also the name of spec.pipeline[0]`,
		}},
		"Functions": {"a step requires the name of an existing function, and a misspelled field or one in the wrong case is reported", pipeline(`  - step: one
  - step: two
    functonRef: {name: function-a}
  - step: three
    functionRef:
      name: absent
  - step: four
    functionRef: {}
  - step: five
    functionRef: {name: absent}
  - step: six
    functionref: {name: function-a}
`), []string{
			`8 spec.pipeline[0].functionRef.name StepWithoutFunction: the step "one" has no function name`,
			`9 spec.pipeline[1].functionRef.name StepWithoutFunction: the step "two" has no function name`,
			"10 spec.pipeline[1].functonRef UnknownField: unknown field of a Composition: the API server drops it, did you mean functionRef?",
			`13 spec.pipeline[2].functionRef.name UnknownFunction: the step "three" calls the function "absent", which was not found`,
			`15 spec.pipeline[3].functionRef.name StepWithoutFunction: the step "four" has no function name`,
			`17 spec.pipeline[4].functionRef.name UnknownFunction: the step "five" calls the function "absent", which was not found`,
			"19 spec.pipeline[5].functionref UnknownField: unknown field of a Composition: the API server drops it, did you mean functionRef?",
		}},
		"Credentials": {"credentials require a name, a source and the fields of the source", pipeline(`  - step: make
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
			"11 spec.pipeline[0].credentials[0].secretRef.name CredentialWithoutSecret: source Secret requires the name of a Secret",
			`12 spec.pipeline[0].credentials[1].name DuplicateCredential: the name "a" is also the name of spec.pipeline[0].credentials[0]`,
			"13 spec.pipeline[0].credentials[2].name CredentialWithoutName: no name is set",
			`14 spec.pipeline[0].credentials[3].source UnknownCredentialSource: expected source Secret or None, got "Vault"`,
			`15 spec.pipeline[0].credentials[4].source UnknownCredentialSource: expected source Secret or None, got ""`,
			"18 spec.pipeline[0].credentials[5].secretRef.name CredentialWithoutSecret: source Secret requires the name of a Secret",
		}},
		"Requirements": {"requirements require a name, a type and one selector", pipeline(`  - step: make
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
			"21 spec.pipeline[0].requirements.requiredResources[3].matchLabels RequirementByNameAndByLabel: matchName and matchLabels must not both be set",
			"24 spec.pipeline[0].requirements.requiredSchemas[0].kind RequirementWithoutType: no kind is set",
			`25 spec.pipeline[0].requirements.requiredSchemas[1].requirementName DuplicateRequirement: the name "a" is also the name of spec.pipeline[0].requirements.requiredSchemas[0]`,
		}},
		"Fields": {"fields are case-sensitive, and unknown fields are reported at any depth", pipeline(`  - step: make
    functionRef: {name: function-a, kind: Function}
    Input: {}
  writeTo: here
metadata2: {}
`), []string{
			"9 spec.pipeline[0].functionRef.kind UnknownField: unknown field of a Composition: the API server drops it",
			"10 spec.pipeline[0].Input UnknownField: unknown field of a Composition: the API server drops it, did you mean input?",
			"11 spec.writeTo UnknownField: unknown field of a Composition: the API server drops it",
			"12 metadata2 UnknownField: unknown field of a Composition: the API server drops it, did you mean metadata?",
		}},
		"Alias": {"the line of a problem inside an alias is the line of the anchor", pipeline(`  - step: one
    functionRef: &ref
      name: absent
  - step: two
    functionRef: *ref
`), []string{
			`10 spec.pipeline[0].functionRef.name UnknownFunction: the step "one" calls the function "absent", which was not found`,
			`10 spec.pipeline[1].functionRef.name UnknownFunction: the step "two" calls the function "absent", which was not found`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range check(t, document(tc.text)) {
				got = append(got, fmt.Sprintf("%d %s %s: %s", p.Line, p.Field, p.Kind, p.Text))
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestCheckWithoutFunctions(t *testing.T) {
	doc := document(pipeline("  - {step: one, functionRef: {name: absent}}\n"))
	c := e2e.Must(composition.Decode(doc))(t)
	if got := composition.Check(c, nil); got != nil {
		t.Errorf("without a list of functions every function exists: got %v", got)
	}
}

func TestProblemIsAnError(t *testing.T) {
	doc := manifest.Document{Path: "dir/c.yaml", Line: 5, Text: []byte(pipeline("  - step: one\n"))}
	var problem composition.Problem
	if err := errors.Join(check(t, doc)[0]); !errors.As(err, &problem) {
		t.Fatalf("got %v", err)
	}
	const want = `dir/c.yaml:12: spec.pipeline[0].functionRef.name: the step "one" has no function name`
	e2e.Equal(t, "the text of a problem has its file, line and field", want, problem.Error())
}

// TestGoldenCompositions checks the Compositions of the golden cases. The map want has the
// problems of the cases that test a problem. No other case has a problem.
func TestGoldenCompositions(t *testing.T) {
	want := map[string][]composition.ProblemKind{
		"bad-check-order":        {composition.NotCarried, composition.UnknownFunction},
		"basic-empty-pipeline":   {composition.EmptyPipeline},
		"comp-no-pipeline":       {composition.EmptyPipeline},
		"comp-mode-absent":       {composition.UnknownMode},
		"comp-mode-resources":    {composition.NotCarried},
		"comp-env-config":        {composition.LegacyField},
		"comp-unknown-fields":    {composition.UnknownField},
		"fn-missing":             {composition.UnknownFunction},
		"fn-missing-second-step": {composition.UnknownFunction},
		"fn-not-a-function":      {composition.UnknownFunction},
	}
	paths := e2e.Glob(t, "../../testdata/golden/render/*/composition.yaml")
	r := manifest.Reader{FS: afero.NewOsFs()}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			doc, _, err := r.First(t.Context(), path)
			e2e.NoError(t, err)
			c, err := composition.Decode(doc)
			if name == "comp-not-a-composition" {
				e2e.ErrorHas(t, "a document of another kind cannot be decoded", err, "expected a Composition, got Function")
				return
			}
			e2e.NoError(t, err)
			var functions []string
			docs := e2e.Must(r.All(t.Context(), filepath.Join(filepath.Dir(path), "functions.yaml")))(t)
			for _, d := range docs {
				functions = append(functions, string(d.Text))
			}
			var got []composition.ProblemKind
			for _, p := range composition.Check(c, func(function string) bool {
				return strings.Contains(strings.Join(functions, ""), "name: "+function+"\n")
			}) {
				got = append(got, p.Kind)
			}
			e2e.Equal(t, "only golden cases that test a problem have one", want[name], got)
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
