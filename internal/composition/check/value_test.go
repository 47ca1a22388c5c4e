package check_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// TestChange compares the function change with real transforms. A transform must fail for
// an input whose type change rejects. Its output must have a type that change returns.
func TestChange(t *testing.T) {
	values := []any{
		"a", "7", "1.5", "true", `{"a": 1}`, `["a"]`, int64(7), 7.0, 7.5, true,
		map[string]any{"a": "b"},
		[]any{"a", 1.0},
		nil,
	}
	transforms := []string{
		"{type: map, map: {a: 1, '7': x, 'true': [1], '1.5': 2.5}}",
		"{type: match, match: {patterns: [{type: literal, literal: a, result: {b: 1}}, {type: regexp, regexp: '^7', result: true}], fallbackTo: Input}}",
		"{type: match, match: {patterns: [{type: literal, literal: a, result: 1.5}], fallbackValue: x}}",
		"{type: match, match: {patterns: [{type: literal, literal: a}]}}",
		"{type: math, math: {type: Multiply, multiply: 2}}", "{type: math, math: {type: ClampMin, clampMin: 10}}", "{type: math, math: {type: ClampMax, clampMax: 3}}",
		"{type: string, string: {type: Format, fmt: 'a-%v'}}", "{type: string, string: {type: Convert, convert: ToUpper}}", "{type: string, string: {type: Convert, convert: ToJson}}",
		"{type: string, string: {type: Convert, convert: ToSha1}}", "{type: string, string: {type: TrimPrefix, trim: a}}", "{type: string, string: {type: Regexp, regexp: {match: '.'}}}",
		"{type: string, string: {type: Join, join: {separator: ','}}}", "{type: string, string: {type: Replace, replace: {search: a, replace: b}}}",
	}
	for _, to := range []string{"string", "int", "int64", "bool", "float64", "object", "array"} {
		for _, format := range []string{"none", "quantity", "json"} {
			transforms = append(transforms, "{type: convert, convert: {toType: "+to+", format: "+format+"}}")
		}
	}
	for _, text := range transforms {
		tr := spec.Transform{}
		e2e.NoError(t, yaml.UnmarshalStrict([]byte(text), &tr))
		chain := patch.CompileTransforms([]spec.Transform{tr})
		taken := schema.Types(0)
		for _, v := range values {
			in := check.TypeOf(v)
			out, why := check.Change(&tr, in)
			got, err := chain.Apply(v, &patch.Budget{})
			switch {
			case err != nil:
				continue
			case why != "":
				t.Errorf("%s: %v (%T) became %v, but got the reason %s", text, v, v, got, why)
			case check.TypeOf(got)&(out|schema.Null) == 0:
				t.Errorf("%s: %v (%T) became %v, want %s", text, v, v, got, out)
			}
			taken |= in
		}
		// Each type that change accepts has a value that the transform accepts.
		for one := schema.String; one < schema.Null; one <<= 1 {
			_, why := check.Change(&tr, one)
			if never := strings.Contains(text, "convert: {toType") && taken == 0; why == "" && !never && taken&one == 0 {
				t.Errorf("%s: fails on each value of type %s", text, one)
			}
		}
	}
}
