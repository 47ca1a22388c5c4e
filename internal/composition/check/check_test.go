package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// xrd and bucket define the kinds between which the tests patch. Each kind has
// a field of each type.
const xrd = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xwidgets.gold.test}
spec:
  group: gold.test
  scope: Cluster
  names: {kind: XWidget, plural: xwidgets}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [text]
            properties:
              text: {type: string}
              count: {type: integer}
              ratio: {type: number}
              flag: {type: boolean}
              port: {x-kubernetes-int-or-string: true}
              maybe: {type: string, nullable: true}
              list: {type: array, items: {type: string}}
              counts: {type: array, items: {type: integer}}
              map: {type: object, additionalProperties: {type: string}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              object: {type: object, required: [extra], properties: {name: {type: string}, size: {type: string}, extra: {type: string}}}
              pair: {type: object, properties: {name: {type: string}, size: {type: string}, extra: {type: string}}}
              size: {type: string, enum: [small, large]}
          status:
            type: object
            properties:
              text: {type: string}
              count: {type: integer}
`

const bucket = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.gold.test}
spec:
  group: gold.test
  scope: Cluster
  names: {kind: Bucket, plural: buckets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [text, never]
            properties:
              never: {type: string}
              text: {type: string}
              count: {type: integer}
              ratio: {type: number}
              flag: {type: boolean}
              port: {x-kubernetes-int-or-string: true}
              list: {type: array, items: {type: string}}
              map: {type: object, additionalProperties: {type: string}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              object: {type: object, properties: {name: {type: string}, size: {type: integer}}}
              open: {type: object, additionalProperties: true}
              rules: {type: array, items: {type: object, properties: {name: {type: string}, ports: {type: array, items: {type: integer}}}}}
              manifest: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              text: {type: string}
              count: {type: integer}
              flag: {type: boolean}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}
  - {name: v0, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {}}}}}}}
  - {name: v9, served: true, storage: false}
`

// known returns the schema definitions of the kinds that the constants xrd and
// bucket define.
func known(t testing.TB) schema.Definitions { return definitions(t, xrd, bucket) }

func definitions(t testing.TB, texts ...string) schema.Definitions {
	t.Helper()
	all := schema.Definitions{}
	for _, text := range texts {
		crds := e2e.Must(crd.All(e2e.Object(t, text)))(t)
		for _, obj := range crds {
			def := e2e.Must(schema.New(obj))(t)
			all[def.GroupKind] = def
		}
	}
	return all
}

func entry(t testing.TB, text string) composition.Entry {
	t.Helper()
	return e2e.Must(composition.Decode(manifest.Document{Path: "c.yaml", Line: 1, Text: []byte(text)}))(t)
}

const head = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
`

// legacy returns a Composition of mode Resources. The text rest begins on its line 7.
func legacy(rest string) string { return head + "  mode: Resources\n" + rest }

// pipeline returns a Composition with one step. The text input is the input of
// this step and begins on line 13.
func pipeline(input string) string {
	return head + `  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
` + indent(input)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// options returns options with the inputs of all builtins.
func options(schemas check.Schemas, mode check.Mode) check.Options {
	return check.Options{Schemas: schemas, Mode: mode, Inputs: builtin.Inputs()}
}

// lines formats each problem as one line.
func lines(found []composition.Problem) []string {
	var all []string
	for _, p := range found {
		level := ""
		if p.Warning {
			level = "warning: "
		}
		all = append(all, fmt.Sprintf("%d %s: %s%s: %s", p.Line, p.Field, level, p.Kind, p.Text))
	}
	return all
}

// A rule is a test case for a rule of Crossplane's documentation or of
// function-patch-and-transform.
type rule struct {
	// legacy is part of a Composition of mode Resources, and input is part of a
	// function's input. Both violate the rule. Either may be empty.
	legacy, input string
	want          []string
}

// TestIntegrityRules tests each rule of the section "Composition validation" of
// Crossplane's documentation. The name of a case is the text of the rule.
func TestIntegrityRules(t *testing.T) {
	const base = "base: {apiVersion: gold.test/v1, kind: Bucket}"
	cases := map[string]rule{
		"the resources field isn't empty": {
			"  resources: []\n", "", []string{"7 spec.resources: EmptyResources: a Composition of mode Resources must have resources"},
		},
		"the resources field of a Composition with a pipeline isn't empty": {
			"  pipeline: [{step: a, functionRef: {name: b}}]\n", "  resources: []\n", []string{
				"4 spec.resources: EmptyResources: a Composition of mode Resources must have resources",
				"6 spec.mode: warning: NotCarried: the pipeline is used, since there are no resources: Crossplane would reject the Composition",
				"13 spec.pipeline[0].input.resources: EmptyResources: an input without environment patches must have resources",
			},
		},
		"all resources either use a name or don't": {
			"  resources:\n  - name: a\n    " + base + "\n  - " + base + "\n", "  resources:\n  - name: a\n    " + base + "\n  - " + base + "\n", []string{
				"10 spec.resources[1].name: NamedAndUnnamed: no name is set, but other resources have one: set all names or none",
				"16 spec.pipeline[0].input.resources[1].name: ResourceWithoutName: no name is set",
			},
		},
		"no duplicate resource names": {
			"  resources:\n  - {name: a, " + base + "}\n  - {name: a, " + base + "}\n  - {name: a}\n", "  resources:\n  - {name: a, " + base + "}\n  - {name: a, " + base + "}\n  - {name: a}\n", []string{
				`9 spec.resources[1].name: DuplicateResource: the name "a" is also the name of spec.resources[0]: rename one`,
				`10 spec.resources[2].name: DuplicateResource: the name "a" is also the name of spec.resources[0]: rename one`,
				`15 spec.pipeline[0].input.resources[1].name: DuplicateResource: the name "a" is also the name of spec.pipeline[0].input.resources[0], whose resource is lost: rename one`,
			},
		},
		"patch sets must have names": {
			"  patchSets:\n  - patches: []\n  resources:\n  - {name: a}\n", "  patchSets:\n  - patches: []\n  resources:\n  - {name: a}\n", []string{
				"8 spec.patchSets[0].name: PatchSetWithoutName: no name is set",
				"14 spec.pipeline[0].input.patchSets[0].name: PatchSetWithoutName: no name is set",
			},
		},
		"patches that require a fromFieldPath value provide it": {
			"  resources:\n  - name: a\n    patches:\n    - {}\n    - {type: ToCompositeFieldPath, toFieldPath: status.text}\n", "  patchSets:\n  - {name: s, patches: [{type: FromEnvironmentFieldPath, fromFieldPath: ''}]}\n  resources:\n  - name: a\n    patches: [{type: ToEnvironmentFieldPath}]\n  environment: {patches: [{}]}\n", []string{
				"10 spec.resources[0].patches[0].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromCompositeFieldPath",
				"11 spec.resources[0].patches[1].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type ToCompositeFieldPath",
				"14 spec.pipeline[0].input.patchSets[0].patches[0].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromEnvironmentFieldPath",
				"17 spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type ToEnvironmentFieldPath",
				"18 spec.pipeline[0].input.environment.patches[0].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromCompositeFieldPath",
			},
		},
		"patches that require a toFieldPath value provide it": {
			"  resources:\n  - name: a\n    patches:\n    - {type: CombineFromComposite, fromFieldPath: spec.text, " + combine + "}\n", "  resources:\n  - name: a\n    patches: [{type: CombineToEnvironment, " + combine + "}]\n", []string{
				"10 spec.resources[0].patches[0].toFieldPath: PatchWithoutToFieldPath: toFieldPath must be set for patch type CombineFromComposite",
				"15 spec.pipeline[0].input.resources[0].patches[0].toFieldPath: PatchWithoutToFieldPath: toFieldPath must be set for patch type CombineToEnvironment",
			},
		},
		"patches that require a combine field provide it": {
			"  resources:\n  - name: a\n    patches:\n    - {type: CombineToComposite, toFieldPath: status.text}\n", "  resources:\n  - name: a\n    patches:\n    - type: CombineFromEnvironment\n      toFieldPath: spec.text\n", []string{
				"10 spec.resources[0].patches[0].combine: PatchWithoutCombine: combine must be set for patch type CombineToComposite",
				"16 spec.pipeline[0].input.resources[0].patches[0].combine: PatchWithoutCombine: combine must be set for patch type CombineFromEnvironment",
			},
		},
		"readiness checks using matchString aren't empty": {
			"  resources:\n  - name: a\n    readinessChecks:\n    - {type: MatchString, fieldPath: status.text}\n    - {type: MatchString, fieldPath: status.text, matchString: ''}\n", "  resources:\n  - name: a\n    readinessChecks:\n    - {type: MatchString, fieldPath: status.text}\n    - {type: MatchString, fieldPath: status.text, matchString: ''}\n", []string{
				"10 spec.resources[0].readinessChecks[0].matchString: EmptyMatchString: cannot be nil for type MatchString",
				"11 spec.resources[0].readinessChecks[1].matchString: EmptyMatchString: the string to match is empty",
				"16 spec.pipeline[0].input.resources[0].readinessChecks[0].matchString: EmptyMatchString: cannot be nil for type MatchString",
				"17 spec.pipeline[0].input.resources[0].readinessChecks[1].matchString: warning: EmptyMatchString: the string to match is empty",
			},
		},
		"readiness checks using matchInteger isn't 0": {
			"  resources:\n  - name: a\n    readinessChecks:\n    - {type: MatchInteger, fieldPath: status.count}\n    - {type: MatchInteger, fieldPath: status.count, matchInteger: 0}\n", "  resources:\n  - name: a\n    readinessChecks:\n    - {type: MatchInteger, fieldPath: status.count}\n    - {type: MatchInteger, fieldPath: status.count, matchInteger: 0}\n", []string{
				"10 spec.resources[0].readinessChecks[0]: warning: NotCarried: function-patch-and-transform decodes each observed number as a float, which never equals an integer, so the resource will not become ready",
				"10 spec.resources[0].readinessChecks[0].matchInteger: ZeroMatchInteger: cannot be nil for type MatchInteger",
				"11 spec.resources[0].readinessChecks[1]: warning: NotCarried: function-patch-and-transform decodes each observed number as a float, which never equals an integer, so the resource will not become ready",
				"11 spec.resources[0].readinessChecks[1].matchInteger: ZeroMatchInteger: the integer to match is 0",
				"16 spec.pipeline[0].input.resources[0].readinessChecks[0].matchInteger: ZeroMatchInteger: cannot be nil for type MatchInteger",
				"17 spec.pipeline[0].input.resources[0].readinessChecks[1].matchInteger: warning: ZeroMatchInteger: the integer to match is 0",
			},
		},
		"readiness checks requiring a fieldPath value provide it": {
			"  resources:\n  - name: a\n    readinessChecks:\n    - {type: NonEmpty}\n    - {type: MatchString}\n    - {type: MatchTrue, fieldPath: ''}\n", "  resources:\n  - name: a\n    readinessChecks:\n    - {type: MatchFalse}\n    - {type: MatchInteger}\n    - {type: NonEmpty, fieldPath: ''}\n    - {type: None}\n", []string{
				"10 spec.resources[0].readinessChecks[0].fieldPath: CheckWithoutFieldPath: cannot be empty",
				"11 spec.resources[0].readinessChecks[1].matchString: EmptyMatchString: cannot be nil for type MatchString",
				"11 spec.resources[0].readinessChecks[1].fieldPath: CheckWithoutFieldPath: no path is set for type MatchString",
				"12 spec.resources[0].readinessChecks[2].fieldPath: CheckWithoutFieldPath: the path is empty, so it refers to the whole resource",
				"16 spec.pipeline[0].input.resources[0].readinessChecks[0].fieldPath: CheckWithoutFieldPath: cannot be empty",
				"17 spec.pipeline[0].input.resources[0].readinessChecks[1].matchInteger: ZeroMatchInteger: cannot be nil for type MatchInteger",
				"17 spec.pipeline[0].input.resources[0].readinessChecks[1].fieldPath: CheckWithoutFieldPath: no path is set for type MatchInteger",
				"18 spec.pipeline[0].input.resources[0].readinessChecks[2].fieldPath: warning: CheckWithoutFieldPath: the path is empty, so it refers to the whole resource",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			if tc.legacy != "" {
				got = lines(check.Composition(t.Context(), entry(t, legacy(tc.legacy)), options(known(t).Definition, check.Warn)))
			}
			if tc.input != "" {
				got = append(got, lines(check.Composition(t.Context(), entry(t, pipeline(tc.input)), options(known(t).Definition, check.Warn)))...)
			}
			e2e.Equal(t, "the broken rule is reported", tc.want, got)
		})
	}
}

const combine = "combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}]}"

// TestPipelineRules tests the rules for mode Pipeline in Crossplane's documentation.
func TestPipelineRules(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"the pipeline field isn't empty": {head + "  mode: Pipeline\n  pipeline: []\n", "7 spec.pipeline: EmptyPipeline: the pipeline has no steps"},
		"no duplicate step names": {
			head + "  mode: Pipeline\n  pipeline:\n  - {step: a, functionRef: {name: f}}\n  - {step: a, functionRef: {name: f}}\n",
			`9 spec.pipeline[1].step: DuplicateStep: the name "a" is also the name of spec.pipeline[0]`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(check.Composition(t.Context(), entry(t, tc.text), options(known(t).Definition, check.Warn)))
			e2e.Equal(t, "the broken rule is reported", []string{tc.want}, got)
		})
	}
}

// TestInputRules tests rules of function-patch-and-transform that Crossplane's
// documentation does not mention: which inputs the function rejects, and which
// patches fail for every value.
func TestInputRules(t *testing.T) {
	const at = "spec.pipeline[0].input."
	patched := func(transform string) string {
		return "  resources:\n  - name: a\n    patches:\n    - {fromFieldPath: spec.any.a, toFieldPath: a, transforms: [" + transform + "]}\n"
	}
	const of = "16 " + at + "resources[0].patches[0].transforms[0]."
	cases := map[string]struct {
		reason, input string
		want          []string
	}{
		"Unknown":       {"the input is decoded strictly", "  resources:\n  - name: a\n    patches:\n    - fromFieldPath: spec.text\n      tofieldPath: a\n", []string{"17 " + at + "resources[0].patches[0].tofieldPath: InvalidInput: function-patch-and-transform has no such field and rejects its input, did you mean toFieldPath?"}},
		"Misfit":        {"a field must have its type", "  resources:\n  - name: a\n    patches:\n    - {fromFieldPath: [a]}\n", []string{"16 " + at + "resources[0].patches[0].fromFieldPath: InvalidInput: must be a string, not a list"}},
		"List":          {"a list must be a list", "  resources: a\n", []string{"13 " + at + "resources: InvalidInput: must be a list, not a string"}},
		"PatchType":     {"a patch requires a known type", "  resources:\n  - {name: a, patches: [{type: Other, fromFieldPath: a}]}\n", []string{"14 " + at + `resources[0].patches[0].type: InvalidInput: Invalid value: "Other": unknown patch type`}},
		"NearType":      {"a patch type that is similar to a known one is suggested", "  resources:\n  - {name: a, patches: [{type: FromCompositFieldPath, fromFieldPath: a}]}\n", []string{"14 " + at + `resources[0].patches[0].type: InvalidInput: Invalid value: "FromCompositFieldPath": unknown patch type, did you mean FromCompositeFieldPath?`}},
		"SetInSet":      {"a patch set must not contain a patch set", "  patchSets:\n  - {name: a, patches: [{type: PatchSet}]}\n  resources: [{name: a}]\n", []string{"14 " + at + `patchSets[0].patches[0].type: InvalidInput: Invalid value: "PatchSet": patch type *v1beta1.PatchSetPatch does not support patch of type PatchSet`}},
		"NoSetName":     {"a patch of type PatchSet requires a name", "  resources:\n  - {name: a, patches: [{type: PatchSet}]}\n", []string{"14 " + at + "resources[0].patches[0].patchSetName: InvalidInput: patchSetName must be set for patch type PatchSet"}},
		"Policy":        {"a policy must be a known one of its field", "  resources:\n  - name: a\n    patches:\n    - fromFieldPath: spec.text\n      toFieldPath: a\n      policy:\n        toFieldPath: Other\n", []string{"19 " + at + `resources[0].patches[0].policy.toFieldPath: InvalidInput: Invalid value: "Other": unknown toFieldPathPolicy`}},
		"CombineRest":   {"transforms of a combine patch are checked", "  resources:\n  - name: a\n    patches:\n    - {type: CombineFromComposite, toFieldPath: a, " + combine + ", transforms: [{type: odd}]}\n", []string{of + `type: InvalidInput: Invalid value: "odd": unknown transform type`}},
		"TwoErrors":     {"all errors of an input are reported", "  resources:\n  - name: a\n    patches:\n    - {toFieldPath: a, transforms: [{type: math}]}\n", []string{"16 " + at + "resources[0].patches[0].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromCompositeFieldPath", of + "math: InvalidInput: given transform type math requires configuration"}},
		"Conversion":    {"a string conversion must be a known one", patched("{type: string, string: {type: Convert, convert: ToRot13}}"), []string{of + `string.convert: InvalidInput: unknown string conversion "ToRot13"`}},
		"Conversions":   {"a string conversion requires its name", patched("{type: string, string: {type: Convert, convert: ToJson}}, {type: string, string: {type: Convert, convert: ToSha256}}, {type: string, string: {type: Convert, convert: FromBase64}}"), nil},
		"Never":         {"some formats only support some types", patched("{type: convert, convert: {toType: array, format: quantity}}"), []string{of + "convert.format: InvalidInput: the format quantity cannot convert a value to array; the format json converts a string"}},
		"PatternType":   {"a pattern requires a type, although the schema does not", patched("{type: match, match: {patterns: [{literal: a}]}}"), []string{of + "match.patterns[0].type: InvalidInput: a pattern must have the type literal or regexp"}},
		"Fallbacks":     {"a match has only one fallback", patched("{type: match, match: {patterns: [{type: literal, literal: a}], fallbackTo: Input, fallbackValue: 1}}"), []string{of + "match.fallbackTo: InvalidInput: fallbackValue must not be set if fallbackTo is Input"}},
		"DetailType":    {"a connection detail requires a type", "  resources:\n  - {name: a, connectionDetails: [{name: a}]}\n", []string{"14 " + at + "resources[0].connectionDetails[0].type: InvalidInput: connection detail type is required"}},
		"ReadinessType": {"a readiness check requires a type", "  resources:\n  - {name: a, readinessChecks: [{type: Odd}]}\n", []string{"14 " + at + `resources[0].readinessChecks[0].type: InvalidInput: Invalid value: "Odd": unknown readiness check type`}},
		"Condition":     {"MatchCondition requires a type and a status", "  resources:\n  - {name: a, readinessChecks: [{type: MatchCondition}, {type: MatchCondition, matchCondition: {type: Ready}}]}\n", []string{"14 " + at + "resources[0].readinessChecks[0].matchCondition: InvalidInput: no condition is set for type MatchCondition", "14 " + at + "resources[0].readinessChecks[1].matchCondition.status: InvalidInput: cannot be empty for type MatchCondition"}},
		"Clean":         {"a valid input has no problems", "  resources:\n  - {name: a, connectionDetails: [{name: a, type: FromValue, value: ''}], readinessChecks: [{type: None}]}\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(check.Composition(t.Context(), entry(t, pipeline(tc.input)), options(known(t).Definition, check.Strict)))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestOtherInputs tests Compositions that package check ignores or cannot convert.
func TestOtherInputs(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"OtherKind": {"inputs of functions without a CRD are reported as not checked", fork("acme-render", strings.Replace(pipeline("  resources: 1\n"), "pt.fn", "other.fn", 1)), `10 spec.pipeline[0].input: warning: InputNotChecked: no CRD of kind Resources of other.fn.crossplane.io/v1beta1 was found, so the input of function "acme-render" is not checked`},
		"Malformed": {"a legacy Composition with a field of another type cannot be converted", legacy("  resources: [{name: [a]}]\n"), "7 spec.resources.name: UnknownMode: cannot decode a JSON array"},
		"Alpha":     {"alpha functions are not checked", legacy("  resources: [{}]\n  functions: [{name: a}]\n"), "8 spec.functions: UnknownMode: alpha functions can only be rendered in profile alpha"},
		"OtherMode": {"a Composition of an unknown mode has no other problems", head + "  mode: Magic\n", `6 spec.mode: UnknownMode: expected mode Pipeline or Resources, got "Magic"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(lines(check.Composition(t.Context(), entry(t, tc.text), options(known(t).Definition, check.Strict))), "\n")
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
