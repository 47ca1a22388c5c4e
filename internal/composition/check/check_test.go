package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// xrd and bucket define what the Compositions of the tests patch: one value of
// each type on either side.
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

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	obj, err := manifest.Document{Text: []byte(text)}.Object()
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// known are the definitions of xrd and bucket.
func known(t testing.TB) schema.Definitions {
	t.Helper()
	all := schema.Definitions{}
	for _, text := range []string{xrd, bucket} {
		crds, err := crd.All(object(t, text))
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range crds {
			def, err := schema.New(obj)
			if err != nil {
				t.Fatal(err)
			}
			all[def.GroupKind] = def
		}
	}
	return all
}

func entry(t testing.TB, text string) composition.Entry {
	t.Helper()
	e, err := composition.Decode(manifest.Document{Path: "c.yaml", Line: 1, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const head = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
`

// legacy is a Composition of mode Resources whose templates, or what else there
// is, begin on line 7.
func legacy(rest string) string { return head + "  mode: Resources\n" + rest }

// pipeline is a Composition with an input, which begins on line 13.
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

// lines returns one line for each problem.
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

// A rule is one of the documentation's, or one of the function's besides.
type rule struct {
	// legacy and input break it, each in its own way; either may be empty.
	legacy, input string
	want          []string
}

// TestIntegrityRules has a test for each rule of the documentation's section
// "Composition validation", under its own words.
func TestIntegrityRules(t *testing.T) {
	const base = "base: {apiVersion: gold.test/v1, kind: Bucket}"
	cases := map[string]rule{
		"the resources field isn't empty": {
			"  resources: []\n", "", []string{"7 spec.resources: EmptyResources: there are none, and a Composition of mode Resources composes nothing else"},
		},
		"the resources field isn't empty, though there are others": {
			"  pipeline: [{step: a, functionRef: {name: b}}]\n", "  resources: []\n", []string{
				"4 spec.resources: EmptyResources: there are none, and a Composition of mode Resources composes nothing else",
				"6 spec.mode: warning: NotCarried: the pipeline is taken, since there are no resources: Crossplane would refuse the Composition",
				"13 spec.pipeline[0].input.resources: EmptyResources: there are none, and no patches of the environment either",
			},
		},
		"all resources either use a name or don't": {
			"  resources:\n  - name: a\n    " + base + "\n  - " + base + "\n", "  resources:\n  - name: a\n    " + base + "\n  - " + base + "\n", []string{
				"10 spec.resources[1].name: NamedAndUnnamed: no name is set, but other resources have one: all must have names, or none",
				"16 spec.pipeline[0].input.resources[1].name: ResourceWithoutName: no name is set",
			},
		},
		"no duplicate resource names": {
			"  resources:\n  - {name: a, " + base + "}\n  - {name: a, " + base + "}\n  - {name: a}\n", "  resources:\n  - {name: a, " + base + "}\n  - {name: a, " + base + "}\n  - {name: a}\n", []string{
				`9 spec.resources[1].name: DuplicateResource: the name "a" is that of spec.resources[0], too`,
				`10 spec.resources[2].name: DuplicateResource: the name "a" is that of spec.resources[0], too`,
				`15 spec.pipeline[0].input.resources[1].name: DuplicateResource: the name "a" is that of spec.pipeline[0].input.resources[0], too`,
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
				"10 spec.resources[0].readinessChecks[0]: warning: NotCarried: function-patch-and-transform takes every observed number for a float, which never matches an integer: the resource will not be ready",
				"10 spec.resources[0].readinessChecks[0].matchInteger: ZeroMatchInteger: cannot be nil for type MatchInteger",
				"11 spec.resources[0].readinessChecks[1]: warning: NotCarried: function-patch-and-transform takes every observed number for a float, which never matches an integer: the resource will not be ready",
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
				"12 spec.resources[0].readinessChecks[2].fieldPath: CheckWithoutFieldPath: the path is empty, and leads to the whole resource",
				"16 spec.pipeline[0].input.resources[0].readinessChecks[0].fieldPath: CheckWithoutFieldPath: cannot be empty",
				"17 spec.pipeline[0].input.resources[0].readinessChecks[1].matchInteger: ZeroMatchInteger: cannot be nil for type MatchInteger",
				"17 spec.pipeline[0].input.resources[0].readinessChecks[1].fieldPath: CheckWithoutFieldPath: no path is set for type MatchInteger",
				"18 spec.pipeline[0].input.resources[0].readinessChecks[2].fieldPath: warning: CheckWithoutFieldPath: the path is empty, and leads to the whole resource",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			if tc.legacy != "" {
				got = lines(check.Composition(entry(t, legacy(tc.legacy)), known(t), check.Warn))
			}
			if tc.input != "" {
				got = append(got, lines(check.Composition(entry(t, pipeline(tc.input)), known(t), check.Warn))...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const combine = "combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}]}"

// TestPipelineRules are those of the documentation for mode Pipeline.
func TestPipelineRules(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"the pipeline field isn't empty": {head + "  mode: Pipeline\n  pipeline: []\n", "7 spec.pipeline: EmptyPipeline: the pipeline has no steps"},
		"no duplicate step names": {
			head + "  mode: Pipeline\n  pipeline:\n  - {step: a, functionRef: {name: f}}\n  - {step: a, functionRef: {name: f}}\n",
			`9 spec.pipeline[1].step: DuplicateStep: the name "a" is that of spec.pipeline[0], too`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(check.Composition(entry(t, tc.text), known(t), check.Warn))
			if diff := cmp.Diff([]string{tc.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInputRules are those of function-patch-and-transform besides: what it
// refuses, and what fails on any value.
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
		"Unknown":       {"the input is decoded strictly", "  resources:\n  - name: a\n    patches:\n    - fromFieldPath: spec.text\n      tofieldPath: a\n", []string{"17 " + at + "resources[0].patches[0].tofieldPath: InvalidInput: function-patch-and-transform has no such field, and refuses its input"}},
		"Misfit":        {"values have types", "  resources:\n  - name: a\n    patches:\n    - {fromFieldPath: [a]}\n", []string{"13 " + at + "resources.patches.fromFieldPath: InvalidInput: it cannot be a JSON array"}},
		"List":          {"and lists are lists", "  resources: a\n", []string{"13 " + at + "resources: InvalidInput: it cannot be a JSON string"}},
		"PatchType":     {"patches have types", "  resources:\n  - {name: a, patches: [{type: Other, fromFieldPath: a}]}\n", []string{"14 " + at + `resources[0].patches[0].type: InvalidInput: Invalid value: "Other": unknown patch type`}},
		"SetInSet":      {"sets do not nest", "  patchSets:\n  - {name: a, patches: [{type: PatchSet}]}\n  resources: [{name: a}]\n", []string{"14 " + at + `patchSets[0].patches[0].type: InvalidInput: Invalid value: "PatchSet": patch type *v1beta1.PatchSetPatch does not support patch of type PatchSet`}},
		"NoSetName":     {"a set is named", "  resources:\n  - {name: a, patches: [{type: PatchSet}]}\n", []string{"14 " + at + "resources[0].patches[0].patchSetName: InvalidInput: patchSetName must be set for patch type PatchSet"}},
		"Policy":        {"policies have names, and stand where they stand", "  resources:\n  - name: a\n    patches:\n    - fromFieldPath: spec.text\n      toFieldPath: a\n      policy:\n        toFieldPath: Other\n", []string{"19 " + at + `resources[0].patches[0].policy.toFieldPath: InvalidInput: Invalid value: "Other": unknown toFieldPathPolicy`}},
		"CombineRest":   {"a combination has transforms, too", "  resources:\n  - name: a\n    patches:\n    - {type: CombineFromComposite, toFieldPath: a, " + combine + ", transforms: [{type: odd}]}\n", []string{of + `type: InvalidInput: Invalid value: "odd": unknown transform type`}},
		"TwoErrors":     {"one error does not hide another", "  resources:\n  - name: a\n    patches:\n    - {toFieldPath: a, transforms: [{type: math}]}\n", []string{"16 " + at + "resources[0].patches[0].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromCompositeFieldPath", of + "math: InvalidInput: given transform type math requires configuration"}},
		"Conversion":    {"string conversions have names", patched("{type: string, string: {type: Convert, convert: ToRot13}}"), []string{of + `string.convert: InvalidInput: there is no conversion "ToRot13"`}},
		"Conversions":   {"of which there are some", patched("{type: string, string: {type: Convert, convert: ToJson}}, {type: string, string: {type: Convert, convert: ToSha256}}, {type: string, string: {type: Convert, convert: FromBase64}}"), nil},
		"Never":         {"some formats are for some types", patched("{type: convert, convert: {toType: array, format: quantity}}"), []string{of + "convert.format: InvalidInput: nothing can be converted to array by the format quantity: a string can be by json"}},
		"PatternType":   {"patterns have a type, whatever the schema says", patched("{type: match, match: {patterns: [{literal: a}]}}"), []string{of + "match.patterns[0].type: InvalidInput: a pattern must say whether it is a literal or a regexp"}},
		"Fallbacks":     {"there is one fallback", patched("{type: match, match: {patterns: [{type: literal, literal: a}], fallbackTo: Input, fallbackValue: 1}}"), []string{of + "match.fallbackTo: InvalidInput: there cannot be a fallback value, too"}},
		"DetailType":    {"details have types", "  resources:\n  - {name: a, connectionDetails: [{name: a}]}\n", []string{"14 " + at + "resources[0].connectionDetails[0].type: InvalidInput: connection detail type is required"}},
		"ReadinessType": {"and so have checks", "  resources:\n  - {name: a, readinessChecks: [{type: Odd}]}\n", []string{"14 " + at + `resources[0].readinessChecks[0].type: InvalidInput: Invalid value: "Odd": unknown readiness check type`}},
		"Condition":     {"a condition is one", "  resources:\n  - {name: a, readinessChecks: [{type: MatchCondition}, {type: MatchCondition, matchCondition: {type: Ready}}]}\n", []string{"14 " + at + "resources[0].readinessChecks[0].matchCondition: InvalidInput: no condition is set for type MatchCondition", "14 " + at + "resources[0].readinessChecks[1].matchCondition.status: InvalidInput: cannot be empty for type MatchCondition"}},
		"Clean":         {"what is right is right", "  resources:\n  - {name: a, connectionDetails: [{name: a, type: FromValue, value: ''}], readinessChecks: [{type: None}]}\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(check.Composition(entry(t, pipeline(tc.input)), known(t), check.Strict))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOtherInputs is about what is none of this package's business.
func TestOtherInputs(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"OtherKind": {"other functions have other inputs", strings.Replace(pipeline("  resources: 1\n"), "pt.fn", "other.fn", 1), ""},
		"Malformed": {"a legacy Composition of other types cannot be converted", legacy("  resources: [{name: [a]}]\n"), "7 spec.resources.name: UnknownMode: it cannot be a JSON array"},
		"Alpha":     {"functions of the alpha are rendered elsewhere", legacy("  resources: [{}]\n  functions: [{name: a}]\n"), "8 spec.functions: UnknownMode: functions of the alpha are rendered in profile alpha alone"},
		"OtherMode": {"nor is there more to say of an unknown mode", head + "  mode: Magic\n", `6 spec.mode: UnknownMode: "Magic" is not a mode that can be rendered: only Pipeline and Resources are`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(lines(check.Composition(entry(t, tc.text), known(t), check.Strict)), "\n")
			if got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
