package spec_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// transformed is a patch with one transform.
func transformed(transform string) string {
	return "{fromFieldPath: a, transforms: [" + transform + "]}"
}

func TestValidate(t *testing.T) {
	cases := map[string]struct{ reason, patch, want string }{
		"EmptyPath":      {"an empty path is none", "{fromFieldPath: ''}", "fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EmptyTarget":    {"an empty target is one", "{fromFieldPath: a, toFieldPath: ''}", ""},
		"CombineFrom":    {"the source of a combination is its target by default", "{type: CombineFromComposite, fromFieldPath: a, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: b}]}}", ""},
		"CombineStops":   {"and nothing more of it is looked at", "{type: CombineFromComposite, toFieldPath: a, transforms: [{}], policy: {toFieldPath: x}, combine: {strategy: string, string: {fmt: x}, variables: [{fromFieldPath: b}]}}", ""},
		"PolicyFrom":     {"policies have names", "{fromFieldPath: a, policy: {fromFieldPath: Maybe}}", `policy.fromFieldPathPolicy: Invalid value: "Maybe": unknown fromFieldPathPolicy`},
		"TransformEmpty": {"transforms have a type", transformed("{}"), `transforms[0].type: Invalid value: "": unknown transform type`},
		"MathClampMax":   {"a clamp has a limit", transformed("{type: math, math: {type: ClampMax}}"), "transforms[0].math.clampMax: Required value: must specify a value if a clamp max math transform is specified"},
		"MatchPattern":   {"patterns of a type have what it needs", transformed("{type: match, match: {patterns: [{type: regexp}]}}"), "transforms[0].match.patterns[0].regexp: Required value: regexp pattern type requires a regexp"},
		"MatchUntyped":   {"but patterns without type need nothing", transformed("{type: match, match: {patterns: [{}]}}"), ""},
		"StringEmpty":    {"a string transform has a type", transformed("{type: string, string: {fmt: x}}"), "transforms[0].string.type: Required value: string transform type is required"},
		"StringConvert":  {"any conversion may be written", transformed("{type: string, string: {type: Convert, convert: ToRot13}}"), ""},
		"StringTrim":     {"an empty prefix may be trimmed", transformed("{type: string, string: {type: TrimPrefix, trim: ''}}"), ""},
		"StringRegexp":   {"a regular expression has to be there", transformed("{type: string, string: {type: Regexp}}"), "transforms[0].string.regexp: Required value: regexp transform requires a regexp"},
		"StringJoin":     {"a separator may be empty", transformed("{type: string, string: {type: Join, join: {separator: ''}}}"), ""},
		"ConvertFormat":  {"the format comes before the type", transformed("{type: convert, convert: {toType: x, format: odd}}"), `transforms[0].convert.format: Invalid value: "odd": invalid format`},
		"ConvertNone":    {"there has to be a type", transformed("{type: convert, convert: {}}"), `transforms[0].convert.toType: Invalid value: "": invalid type`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &spec.Patch{}
			if err := yaml.UnmarshalStrict([]byte(tc.patch), p); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := p.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
