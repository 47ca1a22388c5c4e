package input_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform/input"
)

// patched is an input with one patch, transformed with one transform.
func patched(patch string) string { return "{resources: [{name: r, patches: [" + patch + "]}]}" }

func transformed(transform string) string {
	return patched("{fromFieldPath: a, transforms: [" + transform + "]}")
}

const (
	atPatch     = "resources[0].patches[0]."
	atTransform = atPatch + "transforms[0]."
)

func TestValidate(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Nothing":          {"there has to be something to do", "{}", "resources: Required value: resources or environment patches are required"},
		"OnlyEnvironment":  {"patches of the environment are something", "{environment: {patches: [{fromFieldPath: a}]}}", ""},
		"OnlyPatchSets":    {"patch sets alone are not", "{patchSets: [{name: a}]}", "resources: Required value: resources or environment patches are required"},
		"NoName":           {"resources have names", "{resources: [{}]}", "resources[0].name: Required value: name is required"},
		"SetBeforeAll":     {"patch sets come first, without where they stand", "{patchSets: [{name: a}, {patches: []}], resources: [{}]}", "name: Required value: name is required"},
		"SetPatch":         {"so do their patches", "{patchSets: [{name: a, patches: [{}]}]}", "patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"PatchOrder":       {"patches come before details", "{resources: [{name: r, patches: [{}], connectionDetails: [{}]}]}", atPatch + "fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"DetailOrder":      {"and details before readiness", "{resources: [{name: r, readinessChecks: [{}], connectionDetails: [{}]}]}", "resources[0].connectionDetails[0].type: Required value: connection detail type is required"},
		"DetailKey":        {"a key is one even if it is empty", "{resources: [{name: r, connectionDetails: [{name: a, type: FromConnectionSecretKey, fromConnectionSecretKey: ''}]}]}", ""},
		"DetailValue":      {"a value has to be there", "{resources: [{name: r, connectionDetails: [{name: a, type: FromValue}]}]}", "resources[0].connectionDetails[0].value: Required value: value connection detail requires a value"},
		"CheckNone":        {"no check needs no path", "{resources: [{name: r, readinessChecks: [{type: None}]}]}", ""},
		"CheckEmpty":       {"a check has a type", "{resources: [{name: r, readinessChecks: [{}]}]}", `resources[0].readinessChecks[0].type: Invalid value: "": unknown readiness check type`},
		"CheckStringOrder": {"what to compare with comes before where", "{resources: [{name: r, readinessChecks: [{type: MatchString}]}]}", "resources[0].readinessChecks[0].matchString: Required value: cannot be nil for type MatchString"},
		"CheckTruePath":    {"a check of a bool has a path", "{resources: [{name: r, readinessChecks: [{type: MatchTrue}]}]}", "resources[0].readinessChecks[0].fieldPath: Required value: cannot be empty"},
		"CheckConditionNo": {"a condition may be missing until it is used", "{resources: [{name: r, readinessChecks: [{type: MatchCondition}]}]}", ""},
		"EmptyPath":        {"an empty path is none", patched("{fromFieldPath: ''}"), atPatch + "fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EmptyTarget":      {"an empty target is one", patched("{fromFieldPath: a, toFieldPath: ''}"), ""},
		"CombineFrom":      {"the source of a combination is its target by default", patched("{type: CombineFromComposite, fromFieldPath: a, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: b}]}}"), ""},
		"CombineStops":     {"and nothing more of it is looked at", patched("{type: CombineFromComposite, toFieldPath: a, transforms: [{}], policy: {toFieldPath: x}, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: b}]}}"), ""},
		"PolicyFrom":       {"policies have names", patched("{fromFieldPath: a, policy: {fromFieldPath: Maybe}}"), atPatch + `policy.fromFieldPathPolicy: Invalid value: "Maybe": unknown fromFieldPathPolicy`},
		"EnvironmentOrder": {"each patch of the environment is looked at in its turn", "{environment: {patches: [{}, {type: PatchSet}]}}", "environment.patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EnvironmentSet":   {"the environment has no patch sets", "{environment: {patches: [{type: PatchSet}]}}", `environment.patches[0][type]: Invalid value: "PatchSet": invalid environment patch type`},
		"TransformEmpty":   {"transforms have a type", transformed("{}"), atTransform + `type: Invalid value: "": unknown transform type`},
		"MathClampMax":     {"a clamp has a limit", transformed("{type: math, math: {type: ClampMax}}"), atTransform + "math.clampMax: Required value: must specify a value if a clamp max math transform is specified"},
		"MatchPattern":     {"patterns of a type have what it needs", transformed("{type: match, match: {patterns: [{type: regexp}]}}"), atTransform + "match.patterns[0].regexp: Required value: regexp pattern type requires a regexp"},
		"MatchUntyped":     {"but patterns without type need nothing", transformed("{type: match, match: {patterns: [{}]}}"), ""},
		"StringEmpty":      {"a string transform has a type", transformed("{type: string, string: {fmt: x}}"), atTransform + "string.type: Required value: string transform type is required"},
		"StringConvert":    {"any conversion may be written", transformed("{type: string, string: {type: Convert, convert: ToRot13}}"), ""},
		"StringTrim":       {"an empty prefix may be trimmed", transformed("{type: string, string: {type: TrimPrefix, trim: ''}}"), ""},
		"StringRegexp":     {"a regular expression has to be there", transformed("{type: string, string: {type: Regexp}}"), atTransform + "string.regexp: Required value: regexp transform requires a regexp"},
		"StringJoin":       {"a separator may be empty", transformed("{type: string, string: {type: Join, join: {separator: ''}}}"), ""},
		"ConvertFormat":    {"the format comes before the type", transformed("{type: convert, convert: {toType: x, format: odd}}"), atTransform + `convert.format: Invalid value: "odd": invalid format`},
		"ConvertNone":      {"there has to be a type", transformed("{type: convert, convert: {}}"), atTransform + `convert.toType: Invalid value: "": invalid type`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &input.Resources{}
			if err := yaml.UnmarshalStrict([]byte(tc.input), r); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := r.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
