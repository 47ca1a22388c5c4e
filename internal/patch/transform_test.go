package patch_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

type transformObject = map[string]any

func TestTransformApply(t *testing.T) {
	cases := map[string]struct {
		reason, transforms string
		in, want           any
		wantErr            string
	}{
		"MapNull":         {"a null in a map is no result", "{type: map, map: {a: null}}", "a", nil, "map transform could not resolve: value for key a is not valid JSON: unexpected end of JSON input"},
		"MapNumber":       {"numbers of a map are floats, nested ones too", "{type: map, map: {a: [1, {b: 2}]}}", "a", []any{1.0, transformObject{"b": 2.0}}, ""},
		"MatchFallback":   {"a fallback that is no Input is a value", "{type: match, match: {patterns: [{type: literal, literal: x}], fallbackTo: Whatever, fallbackValue: 7}}", "a", 7.0, ""},
		"MatchNothing":    {"without a fallback there is nothing", "{type: match, match: {patterns: [{type: literal, literal: x}]}}", "a", nil, ""},
		"MatchInput":      {"the input may be the fallback", "{type: match, match: {patterns: [{type: literal, literal: x}], fallbackTo: Input}}", "a", "a", ""},
		"MatchNullBoth":   {"a null beside it is nothing", "{type: match, match: {patterns: [{type: literal, literal: x}], fallbackTo: Input, fallbackValue: null}}", "a", "a", ""},
		"MatchNoResult":   {"a pattern without result gives nothing", "{type: match, match: {patterns: [{type: regexp, regexp: '^a'}]}}", "abc", nil, ""},
		"MatchNoType":     {"a pattern without type is found out when it is used", "{type: match, match: {patterns: [{literal: a}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: unsupported pattern type ''"},
		"MatchFirst":      {"patterns after the first that fits are not looked at", "{type: match, match: {patterns: [{type: literal, literal: a, result: 1}, {literal: a}]}}", "a", 1.0, ""},
		"MultiplyInt":     {"integers stay integers, and wrap", "{type: math, math: {type: Multiply, multiply: 4}}", int64(math.MaxInt64), int64(-4), ""},
		"MultiplyFloat":   {"floats stay floats", "{type: math, math: {type: Multiply, multiply: 2}}", 1.5, 3.0, ""},
		"ClampInside":     {"what is inside stays as it is", "{type: math, math: {type: ClampMin, clampMin: 1}}", 1.5, 1.5, ""},
		"ClampTruncated":  {"the truncated value is compared", "{type: math, math: {type: ClampMax, clampMax: 1}}", 1.9, 1.9, ""},
		"ClampMin":        {"the limit is an integer", "{type: math, math: {type: ClampMin, clampMin: 5}}", 1.5, int64(5), ""},
		"ClampHuge":       {"what no int64 holds counts as the smallest", "{type: math, math: {type: ClampMax, clampMax: 5}}", 1e30, 1e30, ""},
		"ClampNil":        {"nothing is no number", "{type: math, math: {type: ClampMax, clampMax: 5}}", nil, nil, "math transform could not resolve: input is required to be a number for math transformer, got <nil>"},
		"FormatNil":       {"nothing can be formatted", "{type: string, string: {type: Format, fmt: '%s|%v'}}", nil, "%!s(<nil>)|%!v(MISSING)", ""},
		"FormatFloat":     {"whole numbers are floats", "{type: string, string: {type: Format, fmt: '%d'}}", 7.0, "%!d(float64=7)", ""},
		"FormatNoVerb":    {"what is not used is said", "{type: string, string: {type: Format, fmt: 'x'}}", "a", "x%!(EXTRA string=a)", ""},
		"UpperNumber":     {"conversions take the text of anything", "{type: string, string: {type: Convert, convert: ToUpper}}", 1e21, "1E+21", ""},
		"Lower":           {"in both directions", "{type: string, string: {type: Convert, convert: ToLower}}", true, "true", ""},
		"Base64Latin":     {"what is no UTF-8 is text all the same", "{type: string, string: {type: Convert, convert: FromBase64}}", "/w==", "\xff", ""},
		"JSONEscaped":     {"JSON is escaped for HTML", "{type: string, string: {type: Convert, convert: ToJson}}", transformObject{"b": "<&>", "a": 1.0}, `{"a":1,"b":"\u003c\u0026\u003e"}`, ""},
		"JSONNaN":         {"and has no NaN", "{type: string, string: {type: Convert, convert: ToJson}}", math.NaN(), nil, "string transform could not resolve: cannot marshal to JSON: json: unsupported value: NaN"},
		"Sha1Text":        {"sums are of the text itself", "{type: string, string: {type: Convert, convert: ToSha1}}", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d", ""},
		"Sha256Value":     {"or of the JSON of anything else", "{type: string, string: {type: Convert, convert: ToSha256}}", []any{}, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945", ""},
		"Trimmed":         {"one prefix goes, not all", "{type: string, string: {type: TrimPrefix, trim: a}}", "aab", "ab", ""},
		"TrimNothing":     {"or none", "{type: string, string: {type: TrimSuffix, trim: ''}}", "aab", "aab", ""},
		"RegexpGroup":     {"a group may be asked for", "{type: string, string: {type: Regexp, regexp: {match: 'a(b+)', group: 1}}}", "xabbc", "bb", ""},
		"RegexpNegative":  {"but none below zero, of which the real one dies", "{type: string, string: {type: Regexp, regexp: {match: 'a', group: -1}}}", "a", nil, `string transform could not resolve: regexp "a" had no matches for group -1`},
		"RegexpNone":      {"nor if nothing matches", "{type: string, string: {type: Regexp, regexp: {match: 'z'}}}", "a", nil, `string transform could not resolve: regexp "z" had no matches for group 0`},
		"Join":            {"one byte is cut", "{type: string, string: {type: Join, join: {separator: ', '}}}", []any{"a", 1.0, nil}, "a, 1, <nil>,", ""},
		"JoinNothing":     {"of nothing, nothing", "{type: string, string: {type: Join, join: {separator: ','}}}", []any{}, "", ""},
		"JoinPlain":       {"without separator nothing is cut", "{type: string, string: {type: Join, join: {separator: ''}}}", []any{"a", "b"}, "ab", ""},
		"Replace":         {"all occurrences, literally", "{type: string, string: {type: Replace, replace: {search: '.', replace: '-'}}}", "a.b.c", "a-b-c", ""},
		"IntIsInt64":      {"int is int64", "{type: convert, convert: {toType: int}}", "12", int64(12), ""},
		"IntName":         {"and is named so", "{type: convert, convert: {toType: int, format: json}}", "12", nil, "convert transform could not resolve: conversion from string to int64 is not supported with format json"},
		"SameType":        {"a value of the type stays, whatever the format", "{type: convert, convert: {toType: float64, format: json}}", 1.5, 1.5, ""},
		"BoolFromFloat":   {"only one is true", "{type: convert, convert: {toType: bool}}", 2.0, false, ""},
		"BoolFromInt":     {"also of integers", "{type: convert, convert: {toType: bool}}", int64(1), true, ""},
		"IntFromFloat":    {"fractions are cut off", "{type: convert, convert: {toType: int64}}", -1.9, int64(-1), ""},
		"TextFromFloat":   {"there is no exponent", "{type: convert, convert: {toType: string}}", 1e21, "1000000000000000000000", ""},
		"FloatFromBool":   {"bools are numbers", "{type: convert, convert: {toType: float64}}", true, 1.0, ""},
		"IntFromBool":     {"of either kind", "{type: convert, convert: {toType: int64}}", false, int64(0), ""},
		"Quantity":        {"quantities are floats", "{type: convert, convert: {toType: float64, format: quantity}}", "1500m", 1.5, ""},
		"QuantityHuge":    {"one with a huge exponent would take all memory", "{type: convert, convert: {toType: float64, format: quantity}}", "1e2147483647", nil, `convert transform could not resolve: the quantity "1e2147483647" is too long`},
		"QuantityLong":    {"so would one with many digits", "{type: convert, convert: {toType: float64, format: quantity}}", strings.Repeat("1", 2000), nil, `convert transform could not resolve: the quantity "` + strings.Repeat("1", 40) + `" is too long`},
		"ObjectNull":      {"a null of JSON is null", "{type: convert, convert: {toType: object, format: json}}", "null", nil, ""},
		"ArrayNull":       {"in place of a list, too", "{type: convert, convert: {toType: array, format: json}}", "null", nil, ""},
		"Array":           {"numbers of JSON are floats", "{type: convert, convert: {toType: array, format: json}}", "[1]", []any{1.0}, ""},
		"NilConvert":      {"nothing cannot be converted", "{type: convert, convert: {toType: string}}", nil, nil, "convert transform could not resolve: invalid input type <nil>"},
		"Invalid":         {"one that was not validated fails when it runs", "{type: math}", 1.0, nil, "given transform type math requires configuration"},
		"InvalidType":     {"of whatever type", "{type: nope}", 1.0, nil, "transform type nope is not supported"},
		"HashNaN":         {"so is a sum of one", "{type: string, string: {type: Convert, convert: ToSha1}}", math.NaN(), nil, "string transform could not resolve: cannot generate hash: cannot marshal to JSON: json: unsupported value: NaN"},
		"AdlerNaN":        {"of either kind", "{type: string, string: {type: Convert, convert: ToAdler32}}", math.NaN(), nil, "string transform could not resolve: unable to generate Adler checksum: cannot marshal to JSON: json: unsupported value: NaN"},
		"InvalidMath":     {"its own fields are looked at again", "{type: math, math: {type: Multiply}}", 1.0, nil, "math transform could not resolve: multiply: Required value: must specify a value if a multiply math transform is specified"},
		"InvalidConvert":  {"those of a conversion, too", "{type: convert, convert: {toType: x}}", 1.0, nil, `convert transform could not resolve: toType: Invalid value: "x": invalid type`},
		"InvalidString":   {"a string transform has a type", "{type: string, string: {fmt: x}}", 1.0, nil, "string transform could not resolve: type  is not supported for string transform type"},
		"InvalidFormat":   {"and what that needs", "{type: string, string: {type: Format}}", 1.0, nil, "string transform could not resolve: string transform of type Format fmt is not set"},
		"InvalidTrim":     {"by name", "{type: string, string: {type: TrimSuffix}}", 1.0, nil, "string transform could not resolve: string transform of type TrimSuffix trim is not set"},
		"InvalidRegexp":   {"an expression has to be one", "{type: string, string: {type: Regexp, regexp: {match: '('}}}", "a", nil, "string transform could not resolve: could not compile regexp: error parsing regexp: missing closing ): `(`"},
		"EmptyRegexp":     {"an empty one is", "{type: string, string: {type: Regexp, regexp: {match: ''}}}", "a", "", ""},
		"EmptySearch":     {"and nothing can be searched for", "{type: string, string: {type: Replace, replace: {search: '', replace: '-'}}}", "ab", "-a-b-", ""},
		"EmptyMap":        {"a map without keys has none", "{type: map, map: {}}", "a", nil, "map transform could not resolve: key a is not found in map"},
		"EmptyMatch":      {"a match without patterns falls back", "{type: match, match: {fallbackValue: 1}}", "a", 1.0, ""},
		"NoLiteral":       {"a pattern has what its type needs", "{type: match, match: {patterns: [{type: literal}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: literal is required by type literal"},
		"NoRegexp":        {"of either type", "{type: match, match: {patterns: [{type: regexp}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: regexp is required by type regexp"},
		"BadRegexp":       {"and that can be read", "{type: match, match: {patterns: [{type: regexp, regexp: '['}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: cannot compile regexp: error parsing regexp: missing closing ]: `[`"},
		"LargeRegexp":     {"without taking all memory", "{type: match, match: {patterns: [{type: regexp, regexp: '" + strings.Repeat("a{1000}", 100) + "'}]}}", "a", nil, "cannot compile regexp: it is too large"},
		"FormatWide":      {"a width is bounded", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%1000000d", 20) + "'}}", 1.0, nil, "it could make more than 16 MiB of text"},
		"FormatStar":      {"also one from arguments", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%[1]*[1]d", 20) + "'}}", int64(1000000), nil, "it could make more than 16 MiB of text"},
		"FormatRepeated":  {"and how often an argument is used", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%[1]s", 2000) + "'}}", strings.Repeat("x", 10000), nil, "it could make more than 16 MiB of text"},
		"FormatPadded":    {"lists are padded element by element", "{type: string, string: {type: Format, fmt: '%1000000v'}}", make([]any, 100), nil, "it could make more than 16 MiB of text"},
		"FormatDate":      {"a number that is no width does not count", "{type: string, string: {type: Format, fmt: '20240101 99999999 %s'}}", "a", "20240101 99999999 a", ""},
		"ReplaceHuge":     {"a replacement is bounded", "{type: string, string: {type: Replace, replace: {search: a, replace: '" + strings.Repeat("b", 1000) + "'}}}", strings.Repeat("a", 100_000), nil, "it could make more than 16 MiB of text"},
		"JoinHuge":        {"so is what is joined", "{type: string, string: {type: Join, join: {separator: '" + strings.Repeat("b", 1000) + "'}}}", make([]any, 100_000), nil, "it could make more than 16 MiB of text"},
		"FormatLargeText": {"a large text is none too many", "{type: string, string: {type: Format, fmt: '%s'}}", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := chain(t, tc.transforms).Apply(tc.in, &patch.Budget{})
			if tc.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "transform at index 0 returned error: ") || !strings.HasSuffix(err.Error(), tc.wantErr) {
					t.Errorf("%s: got %.200v, want %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What many transforms make together is bounded, too: here each doubles a text.
func TestBudget(t *testing.T) {
	double := "{type: string, string: {type: Format, fmt: '%[1]s%[1]s'}}"
	c := chain(t, "["+strings.Repeat(double+",", 40)+"]")
	_, err := c.Apply("xxxxxxxxxxxxxxxx", &patch.Budget{})
	if err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("got %v", err)
	}
	b := &patch.Budget{}
	text := strings.Repeat("x", 1<<20)
	format := chain(t, "{type: string, string: {type: Format, fmt: '%s'}}")
	for range patch.MaxTotal >> 20 {
		if _, err := format.Apply(text, b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := format.Apply(text, b); err == nil || !strings.Contains(err.Error(), "more than 256 MiB") {
		t.Errorf("got %v", err)
	}
	if err := b.Spend(-1); err == nil {
		t.Error("a size below zero is none")
	}
}

// FuzzTransform holds that no transform of any value panics, and that what comes
// out is made of the types that the others take.
func FuzzTransform(f *testing.F) {
	for _, seed := range []string{
		"{type: map, map: {a: 1}}", "{type: match, match: {patterns: [{type: regexp, regexp: 'a|b', result: x}]}}",
		"{type: math, math: {type: Multiply, multiply: 3}}", "{type: string, string: {type: Format, fmt: '%5.2f %+q %#v'}}",
		"{type: string, string: {type: Join, join: {separator: ','}}}", "{type: convert, convert: {toType: float64, format: quantity}}",
		"{type: convert, convert: {toType: array, format: json}}", "{type: string, string: {type: Regexp, regexp: {match: '(', group: 2}}}",
	} {
		for _, value := range []string{"a", "1", "1.5", "[a, 1]", "{a: [1]}", "1e9", "null", "true", "'12Gi'"} {
			f.Add(seed, value)
		}
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		var one spec.Transform
		var v any
		if yaml.Unmarshal([]byte(text), &one) != nil || yaml.Unmarshal([]byte(value), &v) != nil {
			return
		}
		got, err := patch.CompileTransforms([]spec.Transform{one}).Apply(v, &patch.Budget{})
		if err != nil {
			return
		}
		switch got.(type) {
		case nil, bool, int64, float64, string, []any, map[string]any:
		default:
			t.Errorf("%s of %s is a %T", text, value, got)
		}
	})
}

func chain(t *testing.T, text string) patch.TransformChain {
	t.Helper()
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	var transforms []spec.Transform
	if err := yaml.UnmarshalStrict([]byte(text), &transforms); err != nil {
		t.Fatal(err)
	}
	return patch.CompileTransforms(transforms)
}
