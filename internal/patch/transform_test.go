package patch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
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
		"MapNull":         {"a null in a map is an error", "{type: map, map: {a: null}}", "a", nil, "map transform could not resolve: value for key a is not valid JSON: unexpected end of JSON input"},
		"MapNumber":       {"numbers in the result of a map are floats", "{type: map, map: {a: [1, {b: 2}]}}", "a", []any{1.0, transformObject{"b": 2.0}}, ""},
		"MatchFallback":   {"fallbackTo other than Input means the fallback value", "{type: match, match: {patterns: [{type: literal, literal: x}], fallbackTo: Whatever, fallbackValue: 7}}", "a", 7.0, ""},
		"MatchNothing":    {"a missing fallback value is null", "{type: match, match: {patterns: [{type: literal, literal: x}]}}", "a", nil, ""},
		"MatchInput":      {"fallbackTo Input returns the input", "{type: match, match: {patterns: [{type: literal, literal: x}], fallbackTo: Input}}", "a", "a", ""},
		"MatchNullBoth":   {"fallbackTo Input may have a null fallback value", "{type: match, match: {patterns: [{type: literal, literal: x}], fallbackTo: Input, fallbackValue: null}}", "a", "a", ""},
		"MatchNoResult":   {"a pattern without a result returns null", "{type: match, match: {patterns: [{type: regexp, regexp: '^a'}]}}", "abc", nil, ""},
		"MatchNoType":     {"a pattern without a type is an error when it is used", "{type: match, match: {patterns: [{literal: a}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: unsupported pattern type ''"},
		"MatchFirst":      {"patterns after the first match are not compiled", "{type: match, match: {patterns: [{type: literal, literal: a, result: 1}, {literal: a}]}}", "a", 1.0, ""},
		"MultiplyInt":     {"the product of integers is an integer, which overflows", "{type: math, math: {type: Multiply, multiply: 4}}", int64(math.MaxInt64), int64(-4), ""},
		"MultiplyFloat":   {"the product of a float is a float", "{type: math, math: {type: Multiply, multiply: 2}}", 1.5, 3.0, ""},
		"ClampInside":     {"a value within the limit is unchanged", "{type: math, math: {type: ClampMin, clampMin: 1}}", 1.5, 1.5, ""},
		"ClampTruncated":  {"the limit is compared with the truncated value", "{type: math, math: {type: ClampMax, clampMax: 1}}", 1.9, 1.9, ""},
		"ClampMin":        {"the result of a clamp is the integer limit", "{type: math, math: {type: ClampMin, clampMin: 5}}", 1.5, int64(5), ""},
		"ClampHuge":       {"a float above int64 is compared as the smallest int64", "{type: math, math: {type: ClampMax, clampMax: 5}}", 1e30, 1e30, ""},
		"ClampNil":        {"null is not a number", "{type: math, math: {type: ClampMax, clampMax: 5}}", nil, nil, "math transform could not resolve: input is required to be a number for math transformer, got <nil>"},
		"FormatNil":       {"null can be formatted", "{type: string, string: {type: Format, fmt: '%s|%v'}}", nil, "%!s(<nil>)|%!v(MISSING)", ""},
		"FormatFloat":     {"a whole float is formatted as a float", "{type: string, string: {type: Format, fmt: '%d'}}", 7.0, "%!d(float64=7)", ""},
		"FormatNoVerb":    {"an unused argument is reported in the text", "{type: string, string: {type: Format, fmt: 'x'}}", "a", "x%!(EXTRA string=a)", ""},
		"UpperNumber":     {"ToUpper converts the text of a number", "{type: string, string: {type: Convert, convert: ToUpper}}", 1e21, "1E+21", ""},
		"Lower":           {"ToLower converts the text of a boolean", "{type: string, string: {type: Convert, convert: ToLower}}", true, "true", ""},
		"Base64Latin":     {"FromBase64 may return invalid UTF-8", "{type: string, string: {type: Convert, convert: FromBase64}}", "/w==", "\xff", ""},
		"JSONEscaped":     {"ToJson escapes characters of HTML", "{type: string, string: {type: Convert, convert: ToJson}}", transformObject{"b": "<&>", "a": 1.0}, `{"a":1,"b":"\u003c\u0026\u003e"}`, ""},
		"JSONNaN":         {"ToJson does not support NaN", "{type: string, string: {type: Convert, convert: ToJson}}", math.NaN(), nil, "string transform could not resolve: cannot marshal to JSON: json: unsupported value: NaN"},
		"Sha1Text":        {"the hash of a string is the hash of its bytes", "{type: string, string: {type: Convert, convert: ToSha1}}", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d", ""},
		"Sha256Value":     {"the hash of another value is the hash of its JSON", "{type: string, string: {type: Convert, convert: ToSha256}}", []any{}, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945", ""},
		"Trimmed":         {"TrimPrefix removes a prefix once", "{type: string, string: {type: TrimPrefix, trim: a}}", "aab", "ab", ""},
		"TrimNothing":     {"TrimSuffix with an empty suffix removes nothing", "{type: string, string: {type: TrimSuffix, trim: ''}}", "aab", "aab", ""},
		"RegexpGroup":     {"Regexp returns the requested group", "{type: string, string: {type: Regexp, regexp: {match: 'a(b+)', group: 1}}}", "xabbc", "bb", ""},
		"RegexpNegative":  {"a negative group is an error, where the real function panics", "{type: string, string: {type: Regexp, regexp: {match: 'a', group: -1}}}", "a", nil, `string transform could not resolve: regexp "a" had no matches for group -1`},
		"RegexpNone":      {"a regexp without a match is an error", "{type: string, string: {type: Regexp, regexp: {match: 'z'}}}", "a", nil, `string transform could not resolve: regexp "z" had no matches for group 0`},
		"Join":            {"Join removes one byte at the end", "{type: string, string: {type: Join, join: {separator: ', '}}}", []any{"a", 1.0, nil}, "a, 1, <nil>,", ""},
		"JoinNothing":     {"Join of an empty list is empty", "{type: string, string: {type: Join, join: {separator: ','}}}", []any{}, "", ""},
		"JoinPlain":       {"Join with an empty separator removes nothing", "{type: string, string: {type: Join, join: {separator: ''}}}", []any{"a", "b"}, "ab", ""},
		"Replace":         {"Replace replaces all occurrences and is not a regexp", "{type: string, string: {type: Replace, replace: {search: '.', replace: '-'}}}", "a.b.c", "a-b-c", ""},
		"IntIsInt64":      {"type int converts to int64", "{type: convert, convert: {toType: int}}", "12", int64(12), ""},
		"IntName":         {"type int is called int64 in errors", "{type: convert, convert: {toType: int, format: json}}", "12", nil, "convert transform could not resolve: conversion from string to int64 is not supported with format json"},
		"SameType":        {"a value that has the type is unchanged for any format", "{type: convert, convert: {toType: float64, format: json}}", 1.5, 1.5, ""},
		"BoolFromFloat":   {"a float other than 1 converts to false", "{type: convert, convert: {toType: bool}}", 2.0, false, ""},
		"BoolFromInt":     {"the integer 1 converts to true", "{type: convert, convert: {toType: bool}}", int64(1), true, ""},
		"IntFromFloat":    {"a float converts to an integer without its fraction", "{type: convert, convert: {toType: int64}}", -1.9, int64(-1), ""},
		"TextFromFloat":   {"a float converts to a string without an exponent", "{type: convert, convert: {toType: string}}", 1e21, "1000000000000000000000", ""},
		"FloatFromBool":   {"true converts to the float 1", "{type: convert, convert: {toType: float64}}", true, 1.0, ""},
		"IntFromBool":     {"false converts to the integer 0", "{type: convert, convert: {toType: int64}}", false, int64(0), ""},
		"Quantity":        {"a quantity converts to a float", "{type: convert, convert: {toType: float64, format: quantity}}", "1500m", 1.5, ""},
		"QuantityHuge":    {"a quantity with a huge exponent is infinite", "{type: convert, convert: {toType: float64, format: quantity}}", "1e2147483647", math.Inf(1), ""},
		"QuantityDigits":  {"a quantity with many digits and a huge exponent is infinite", "{type: convert, convert: {toType: float64, format: quantity}}", "-0.0000000000000000001E+2147483647", math.Inf(-1), ""},
		"QuantityTiny":    {"a quantity with a small exponent is rounded up to the smallest quantity", "{type: convert, convert: {toType: float64, format: quantity}}", "5e-100000", 1e-9, ""},
		"QuantityWraps":   {"an exponent is truncated to 32 bits", "{type: convert, convert: {toType: float64, format: quantity}}", "5e4294967297", 50.0, ""},
		"QuantityZeros":   {"an exponent may have leading zeros", "{type: convert, convert: {toType: float64, format: quantity}}", "5e0000001", 50.0, ""},
		"QuantityRange":   {"an exponent that exceeds 64 bits is a suffix that does not exist", "{type: convert, convert: {toType: float64, format: quantity}}", "1e9223372036854775808", nil, "convert transform could not resolve: unable to parse quantity's suffix"},
		"QuantityWords":   {"a text that contains an e is not a quantity", "{type: convert, convert: {toType: float64, format: quantity}}", "hello world", nil, "convert transform could not resolve: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		"QuantityText":    {"a long text that is not a quantity is the same error", "{type: convert, convert: {toType: float64, format: quantity}}", strings.Repeat("x", 2000), nil, "convert transform could not resolve: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		"QuantityLong":    {"a quantity with many digits is rejected", "{type: convert, convert: {toType: float64, format: quantity}}", strings.Repeat("1", 2000), nil, `convert transform could not resolve: the quantity "` + strings.Repeat("1", 40) + `" is too long`},
		"ObjectNull":      {"JSON null converts to a nil object", "{type: convert, convert: {toType: object, format: json}}", "null", map[string]any(nil), ""},
		"ArrayNull":       {"JSON null converts to a nil list", "{type: convert, convert: {toType: array, format: json}}", "null", []any(nil), ""},
		"Array":           {"numbers in converted JSON are floats", "{type: convert, convert: {toType: array, format: json}}", "[1]", []any{1.0}, ""},
		"NilConvert":      {"null cannot be converted", "{type: convert, convert: {toType: string}}", nil, nil, "convert transform could not resolve: invalid input type <nil>"},
		"Invalid":         {"a transform without configuration is an error when it is applied", "{type: math}", 1.0, nil, "given transform type math requires configuration"},
		"InvalidType":     {"an unknown type is an error when it is applied", "{type: nope}", 1.0, nil, "transform type nope is not supported"},
		"HashNaN":         {"NaN has no SHA-1 hash", "{type: string, string: {type: Convert, convert: ToSha1}}", math.NaN(), nil, "string transform could not resolve: cannot generate hash: cannot marshal to JSON: json: unsupported value: NaN"},
		"AdlerNaN":        {"NaN has no Adler-32 checksum", "{type: string, string: {type: Convert, convert: ToAdler32}}", math.NaN(), nil, "string transform could not resolve: unable to generate Adler checksum: cannot marshal to JSON: json: unsupported value: NaN"},
		"InvalidMath":     {"a math transform is validated when it is applied", "{type: math, math: {type: Multiply}}", 1.0, nil, "math transform could not resolve: multiply: Required value: must specify a value if a multiply math transform is specified"},
		"InvalidConvert":  {"a conversion is validated when it is applied", "{type: convert, convert: {toType: x}}", 1.0, nil, `convert transform could not resolve: toType: Invalid value: "x": invalid type`},
		"InvalidString":   {"a string transform without a type is an error", "{type: string, string: {fmt: x}}", 1.0, nil, "string transform could not resolve: type  is not supported for string transform type"},
		"InvalidFormat":   {"a Format transform without a format is an error", "{type: string, string: {type: Format}}", 1.0, nil, "string transform could not resolve: string transform of type Format fmt is not set"},
		"InvalidTrim":     {"a TrimSuffix transform without a suffix is an error", "{type: string, string: {type: TrimSuffix}}", 1.0, nil, "string transform could not resolve: string transform of type TrimSuffix trim is not set"},
		"InvalidRegexp":   {"an invalid regexp is an error", "{type: string, string: {type: Regexp, regexp: {match: '('}}}", "a", nil, "string transform could not resolve: could not compile regexp: error parsing regexp: missing closing ): `(`"},
		"EmptyRegexp":     {"an empty regexp matches the empty string", "{type: string, string: {type: Regexp, regexp: {match: ''}}}", "a", "", ""},
		"EmptySearch":     {"an empty search matches between all characters", "{type: string, string: {type: Replace, replace: {search: '', replace: '-'}}}", "ab", "-a-b-", ""},
		"EmptyMap":        {"an empty map has no key", "{type: map, map: {}}", "a", nil, "map transform could not resolve: key a is not found in map"},
		"EmptyMatch":      {"a match without patterns returns the fallback", "{type: match, match: {fallbackValue: 1}}", "a", 1.0, ""},
		"NoLiteral":       {"a pattern of type literal must have a literal", "{type: match, match: {patterns: [{type: literal}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: literal is required by type literal"},
		"NoRegexp":        {"a pattern of type regexp must have a regexp", "{type: match, match: {patterns: [{type: regexp}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: regexp is required by type regexp"},
		"BadRegexp":       {"a pattern with an invalid regexp is an error", "{type: match, match: {patterns: [{type: regexp, regexp: '['}]}}", "a", nil, "match transform could not resolve: cannot match pattern at index 0: cannot compile regexp: error parsing regexp: missing closing ]: `[`"},
		"LargeRegexp":     {"a pattern with a large regexp is rejected", "{type: match, match: {patterns: [{type: regexp, regexp: '" + strings.Repeat("a{1000}", 100) + "'}]}}", "a", nil, "cannot compile regexp: the regular expression is too large"},
		"FormatWide":      {"the total width of a format is limited", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%1000000d", 20) + "'}}", 1.0, nil, "the text could exceed 16 MiB"},
		"FormatStar":      {"a width from an argument is limited", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%[1]*[1]d", 20) + "'}}", int64(1000000), nil, "the text could exceed 16 MiB"},
		"FormatNoWidth":   {"a value that is not an integer is not a width", "{type: string, string: {type: Format, fmt: '%[1]*[1]v'}}", []any{"a", 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}, "%!(BADWIDTH)[a 2 3 4 5 6 7 8 9 10]", ""},
		"FormatWideStar":  {"an integer that is too large is not a width", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%[1]*[1]d", 20) + "'}}", int64(1_000_001), strings.Repeat("%!(BADWIDTH)1000001", 20), ""},
		"FormatRepeated":  {"the total length of repeated arguments is limited", "{type: string, string: {type: Format, fmt: '" + strings.Repeat("%[1]s", 2000) + "'}}", strings.Repeat("x", 10000), nil, "the text could exceed 16 MiB"},
		"FormatPadded":    {"the padding of all elements of a list is limited", "{type: string, string: {type: Format, fmt: '%1000000v'}}", make([]any, 100), nil, "the text could exceed 16 MiB"},
		"FormatDate":      {"a number that is not a width is not limited", "{type: string, string: {type: Format, fmt: '20240101 99999999 %s'}}", "a", "20240101 99999999 a", ""},
		"ReplaceHuge":     {"the length of a replacement is limited", "{type: string, string: {type: Replace, replace: {search: a, replace: '" + strings.Repeat("b", 1000) + "'}}}", strings.Repeat("a", 100_000), nil, "the text could exceed 16 MiB"},
		"JoinHuge":        {"the length of joined text is limited", "{type: string, string: {type: Join, join: {separator: '" + strings.Repeat("b", 1000) + "'}}}", make([]any, 100_000), nil, "the text could exceed 16 MiB"},
		"FormatLargeText": {"a text below the limit is formatted", "{type: string, string: {type: Format, fmt: '%s'}}", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), ""},
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
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestQuantities compares quantities with the quantities of package resource, up to
// exponents that this package computes quickly.
func TestQuantities(t *testing.T) {
	c := chain(t, "{type: convert, convert: {toType: float64, format: quantity}}")
	for _, number := range []string{"1", "-1.5", "+12345678901234567890", "0.00000000000000000001", "-7.", ".5"} {
		for _, suffix := range []string{"", "m", "Ki", "E", "e3", "E-3", "e+08", "e-11", "e308", "e9998", "e10001", "e-12345", "e20000", "e4294967299", "e1.5", "ee", "e 1"} {
			want := ""
			if q, err := resource.ParseQuantity(number + suffix); err != nil {
				want = "transform at index 0 returned error: convert transform could not resolve: " + err.Error()
			} else {
				want = fmt.Sprint(q.AsApproximateFloat64())
			}
			v, err := c.Apply(number+suffix, &patch.Budget{})
			got := fmt.Sprint(v)
			if err != nil {
				got = err.Error()
			}
			e2e.Equal(t, fmt.Sprintf("%s%s has the value or the error of Kubernetes", number, suffix), want, got)
		}
	}
}

// TestBudget checks the limits of one transform (16 MiB) and of all transforms
// together (256 MiB).
func TestBudget(t *testing.T) {
	double := "{type: string, string: {type: Format, fmt: '%[1]s%[1]s'}}"
	c := chain(t, "["+strings.Repeat(double+",", 40)+"]")
	_, err := c.Apply("xxxxxxxxxxxxxxxx", &patch.Budget{})
	e2e.ErrorHas(t, "the result of one transform is limited", err, "exceed 16 MiB")
	b := &patch.Budget{}
	text := strings.Repeat("x", 1<<20)
	format := chain(t, "{type: string, string: {type: Format, fmt: '%s'}}")
	for range patch.MaxTotal >> 20 {
		e2e.NoError(t, e2e.Err(format.Apply(text, b)))
	}
	e2e.ErrorHas(t, "the results of all transforms are limited", e2e.Err(format.Apply(text, b)), "exceeds 256 MiB")
	e2e.Error(t, "Spend rejects a negative size", b.Spend(-1))
}

// FuzzTransform checks that transforms do not panic, and return values of types
// that other transforms accept.
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
			t.Errorf("%s of %s has type %T", text, value, got)
		}
	})
}

func chain(t *testing.T, text string) patch.TransformChain {
	t.Helper()
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	var transforms []spec.Transform
	e2e.NoError(t, yaml.UnmarshalStrict([]byte(text), &transforms))
	return patch.CompileTransforms(transforms)
}
