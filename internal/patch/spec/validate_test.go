package spec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// transformed returns a patch in YAML with one transform.
func transformed(transform string) string {
	return "{fromFieldPath: a, transforms: [" + transform + "]}"
}

func TestValidate(t *testing.T) {
	cases := map[string]struct{ reason, patch, want string }{
		"EmptyPath":      {"an empty fromFieldPath is missing", "{fromFieldPath: ''}", "fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EmptyTarget":    {"an empty toFieldPath is accepted", "{fromFieldPath: a, toFieldPath: ''}", ""},
		"CombineFrom":    {"the toFieldPath of a combine patch defaults to its fromFieldPath", "{type: CombineFromComposite, fromFieldPath: a, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: b}]}}", ""},
		"CombineStops":   {"transforms and policies of a combine patch are not validated", "{type: CombineFromComposite, toFieldPath: a, transforms: [{}], policy: {toFieldPath: x}, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: b}]}}", ""},
		"PolicyFrom":     {"an unknown policy is an error", "{fromFieldPath: a, policy: {fromFieldPath: Maybe}}", `policy.fromFieldPathPolicy: Invalid value: "Maybe": unknown fromFieldPathPolicy`},
		"TransformEmpty": {"a transform must have a type", transformed("{}"), `transforms[0].type: Invalid value: "": unknown transform type`},
		"MathClampMax":   {"a ClampMax transform must have a limit", transformed("{type: math, math: {type: ClampMax}}"), "transforms[0].math.clampMax: Required value: must specify a value if a clamp max math transform is specified"},
		"MatchPattern":   {"a pattern of type regexp must have a regexp", transformed("{type: match, match: {patterns: [{type: regexp}]}}"), "transforms[0].match.patterns[0].regexp: Required value: regexp pattern type requires a regexp"},
		"MatchUntyped":   {"a pattern without a type must have a literal", transformed("{type: match, match: {patterns: [{literal: a}, {result: a}]}}"), "transforms[0].match.patterns[1].literal: Required value: literal pattern type requires a literal"},
		"MatchEmptyType": {"a regexp does not replace the literal of a pattern whose type is empty", transformed("{type: match, match: {patterns: [{type: '', regexp: a}]}}"), "transforms[0].match.patterns[0].literal: Required value: literal pattern type requires a literal"},
		"MatchLiteral":   {"a pattern without a type may have a literal", transformed("{type: match, match: {patterns: [{literal: a}]}}"), ""},
		"StringEmpty":    {"a string transform must have a type", transformed("{type: string, string: {fmt: x}}"), "transforms[0].string.type: Required value: string transform type is required"},
		"StringConvert":  {"an unknown conversion is accepted", transformed("{type: string, string: {type: Convert, convert: ToRot13}}"), ""},
		"StringTrim":     {"an empty trim is accepted", transformed("{type: string, string: {type: TrimPrefix, trim: ''}}"), ""},
		"StringRegexp":   {"a Regexp transform must have a regular expression", transformed("{type: string, string: {type: Regexp}}"), "transforms[0].string.regexp: Required value: regexp transform requires a regexp"},
		"StringJoin":     {"an empty separator is accepted", transformed("{type: string, string: {type: Join, join: {separator: ''}}}"), ""},
		"ConvertFormat":  {"the format of a conversion is validated before its type", transformed("{type: convert, convert: {toType: x, format: odd}}"), `transforms[0].convert.format: Invalid value: "odd": invalid format`},
		"ConvertNone":    {"a conversion must have a type", transformed("{type: convert, convert: {}}"), `transforms[0].convert.toType: Invalid value: "": invalid type`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &spec.Patch{}
			e2e.NoError(t, yaml.UnmarshalStrict([]byte(tc.patch), p))
			got := ""
			if err := p.Validate(); err != nil {
				got = err.Error()
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestErrors(t *testing.T) {
	second := spec.FirstError("list", 3, func(i int) error {
		if i == 0 {
			return nil
		}
		return spec.Invalid("type", "x", "unknown type")
	})
	e2e.Equal(t, "the index of the first failing element is in the path", `list[1].type: Invalid value: "x": unknown type`, fmt.Sprint(second))
	e2e.Equal(t, "the path of an error gets a prefix", `spec.list[1].type: Invalid value: "x": unknown type`, spec.UnderPath("spec", second).Error())
	e2e.Equal(t, "a required field is an error with its path", "name: Required value: name is required", spec.Required("name", "name is required").Error())
	if path, text := spec.SplitError(second); path != "list[1].type" || text != `Invalid value: "x": unknown type` {
		t.Errorf("split into %q and %q", path, text)
	}
	if path, text := spec.SplitError(spec.Required("name", "name is required")); path != "name" || text != "name is required" {
		t.Errorf("split into %q and %q", path, text)
	}
	if path, text := spec.SplitError(errors.New("another")); path != "" || text != "another" {
		t.Errorf("split into %q and %q", path, text)
	}
	other := errors.New("another")
	if got := spec.UnderPath("spec", other); !errors.Is(got, other) || got.Error() != "another" {
		t.Errorf("UnderPath changed an error without a path to %v", got)
	}
	e2e.WantError(t, "UnderPath returns nil for nil", spec.UnderPath("spec", nil), "")
}

func TestInputValidate(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Nothing":          {"resources or patches of the environment are required", "{}", "resources: Required value: resources or environment patches are required"},
		"OnlyEnvironment":  {"patches of the environment are enough", "{environment: {patches: [{fromFieldPath: a}]}}", ""},
		"OnlyPatchSets":    {"patch sets alone are not enough", "{patchSets: [{name: a}]}", "resources: Required value: resources or environment patches are required"},
		"NoName":           {"a resource must have a name", "{resources: [{}]}", "resources[0].name: Required value: name is required"},
		"SetBeforeAll":     {"patch sets are validated first, with errors without their path", "{patchSets: [{name: a}, {patches: []}], resources: [{}]}", "name: Required value: name is required"},
		"Transform":        {"the error in a transform has the path of its patch", "{resources: [{name: r, patches: [{fromFieldPath: a, transforms: [{}]}]}]}", `resources[0].patches[0].transforms[0].type: Invalid value: "": unknown transform type`},
		"TransformText":    {"the type of a transform is quoted in JSON", `{resources: [{name: r, patches: [{fromFieldPath: a, transforms: [{type: "<\u0007"}]}]}]}`, `resources[0].patches[0].transforms[0].type: Invalid value: "\u003c\u0007": unknown transform type`},
		"CheckText":        {"the type of a readiness check is quoted as in Go", `{resources: [{name: r, readinessChecks: [{type: "<\u0007"}]}]}`, `resources[0].readinessChecks[0].type: Invalid value: "<\a": unknown readiness check type`},
		"DetailText":       {"the type of a connection detail is quoted as in Go", `{resources: [{name: r, connectionDetails: [{type: "<\u0007"}]}]}`, `resources[0].connectionDetails[0].type: Invalid value: "<\a": unknown connection detail type`},
		"SetPatch":         {"the error in a patch of a patch set has no path of the set", "{patchSets: [{name: a, patches: [{}]}]}", "patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"PatchOrder":       {"patches are validated before connection details", "{resources: [{name: r, patches: [{}], connectionDetails: [{}]}]}", "resources[0].patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"DetailOrder":      {"connection details are validated before readiness checks", "{resources: [{name: r, readinessChecks: [{}], connectionDetails: [{}]}]}", "resources[0].connectionDetails[0].type: Required value: connection detail type is required"},
		"DetailKey":        {"an empty connection secret key is accepted", "{resources: [{name: r, connectionDetails: [{name: a, type: FromConnectionSecretKey, fromConnectionSecretKey: ''}]}]}", ""},
		"DetailValue":      {"a connection detail of type FromValue must have a value", "{resources: [{name: r, connectionDetails: [{name: a, type: FromValue}]}]}", "resources[0].connectionDetails[0].value: Required value: value connection detail requires a value"},
		"CheckNone":        {"a readiness check of type None requires no path", "{resources: [{name: r, readinessChecks: [{type: None}]}]}", ""},
		"CheckEmpty":       {"a readiness check must have a type", "{resources: [{name: r, readinessChecks: [{}]}]}", `resources[0].readinessChecks[0].type: Invalid value: "": unknown readiness check type`},
		"CheckStringOrder": {"the value of a readiness check is validated before its path", "{resources: [{name: r, readinessChecks: [{type: MatchString}]}]}", "resources[0].readinessChecks[0].matchString: Required value: cannot be nil for type MatchString"},
		"CheckTruePath":    {"a readiness check of type MatchTrue must have a path", "{resources: [{name: r, readinessChecks: [{type: MatchTrue}]}]}", "resources[0].readinessChecks[0].fieldPath: Required value: cannot be empty"},
		"CheckConditionNo": {"a readiness check of type MatchCondition may have no condition", "{resources: [{name: r, readinessChecks: [{type: MatchCondition}]}]}", ""},
		"EnvironmentOrder": {"patches of the environment are validated in order", "{environment: {patches: [{}, {type: PatchSet}]}}", "environment.patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EnvironmentSet":   {"the environment must not have patches of type PatchSet", "{environment: {patches: [{type: PatchSet}]}}", `environment.patches[0][type]: Invalid value: "PatchSet": invalid environment patch type`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &spec.Resources{}
			e2e.NoError(t, yaml.UnmarshalStrict([]byte(tc.input), r))
			got := ""
			if err := r.Validate(); err != nil {
				got = err.Error()
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestCompile(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		large        bool
		wantErr      string
	}{
		"Usual":    {"an ordinary expression is accepted", `^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$`, false, ""},
		"Unicode":  {"a Unicode class with many ranges is accepted", `^\p{L}{1,20}$`, false, ""},
		"Repeat":   {"the size of a repetition grows with its count", `a{1000}`, false, ""},
		"Repeats":  {"many large repetitions are too large", strings.Repeat("a{1000}", 20), true, ""},
		"Nested":   {"the counts of nested repetitions are multiplied", strings.Repeat(`((ab){30}){30}`, 6), true, ""},
		"Optional": {"an unlimited repetition has the size of its minimum", `(a{1,}){5,}`, false, ""},
		"Long":     {"an expression that is too long is rejected", strings.Repeat("a", 17<<10), true, ""},
		"Broken":   {"an invalid expression has the error of package regexp", `a(b`, false, "error parsing regexp: missing closing ): `a(b`"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := spec.CompilePattern(tc.text)
			e2e.Equal(t, tc.reason, tc.large, errors.Is(err, spec.ErrPatternTooLarge))
			if !tc.large && (err == nil) != (tc.wantErr == "") || tc.wantErr != "" && err.Error() != tc.wantErr {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	e := e2e.Must(spec.CompilePattern("b(c+)"))(t)
	e2e.Equal(t, "a part of the text can match the pattern", true, e2e.Must(e.MatchString("abcc"))(t))
	if got, err := e.FindStringSubmatch("abccd"); len(got) != 2 || got[1] != "cc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	slow := e2e.Must(spec.CompilePattern("(?:a?){900}b"))(t)
	text := strings.Repeat("a", 4<<20)
	e2e.ErrorHas(t, "the time of a match is limited", e2e.Err(slow.MatchString(text)), "too large for a text of 4194304 bytes")
	e2e.Error(t, "the time of a search for a submatch is limited", e2e.Err(slow.FindStringSubmatch(text)))
}
