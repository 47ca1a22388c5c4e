package spec_test

import (
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
