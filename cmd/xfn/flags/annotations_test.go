package flags_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestImageAnnotations(t *testing.T) {
	type m = map[string]string
	cases := map[string]struct {
		reason string
		flags  []string
		want   m
		err    string
	}{
		"None":      {"annotations are optional", nil, m{}, ""},
		"Several":   {"the flag can be repeated", []string{"a.b/c=1", "d=x=y"}, m{"a.b/c": "1", "d": "x=y"}, ""},
		"Empty":     {"a value may be empty", []string{"k="}, m{"k": ""}, ""},
		"Last":      {"a later flag has priority", []string{"k=1", "k=2"}, m{"k": "2"}, ""},
		"List":      {"a flag may have a list, as in the crossplane CLI", []string{"a=1,b=2,c.d/e-f_g="}, m{"a": "1", "b": "2", "c.d/e-f_g": ""}, ""},
		"Sentence":  {"a value may have a comma", []string{"title=a, b"}, m{"title": "a, b"}, ""},
		"SpaceList": {"an escaped comma does not begin another annotation", []string{"title=a, b=c"}, m{"title": "a, b=c"}, ""},
		"Words":     {"a list of words is a value", []string{"k=a,b,c"}, m{"k": "a,b,c"}, ""},
		"End":       {"a value may end with a comma", []string{"k=a,", "l=,"}, m{"k": "a,", "l": ","}, ""},
		"Twice":     {"a value may have two commas", []string{"k=a,,l=b"}, m{"k": "a,", "l": "b"}, ""},
		"URL":       {"a comma before a key and = begins another annotation", []string{`u=https://x/?a=1\,b=2,v=\`}, m{"u": "https://x/?a=1,b=2", "v": `\`}, ""},
		"NoValue":   {"an annotation needs a value", []string{"k"}, nil, `"k": expected KEY=VALUE`},
		"NoKey":     {"an annotation needs a key", []string{"=v"}, nil, `"=v": the key is empty`},
		"BlankKey":  {"a key must not be blank", []string{" =v"}, nil, `" =v": the key is empty`},
		"Nothing":   {"an annotation must not be empty", []string{""}, nil, `"": expected KEY=VALUE`},
		"OfList":    {"each annotation of a list is checked", []string{",a=1"}, nil, `"": expected KEY=VALUE`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := flags.ImageAnnotations(tc.flags)
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.WantError(t, tc.reason, err, tc.err)
			if err != nil && !errors.As(err, new(*terminal.UsageError)) {
				t.Errorf("%s: %v is not a usage error", tc.reason, err)
			}
		})
	}
}

func TestFunctionAnnotations(t *testing.T) {
	type m = map[string]string
	for reason, tc := range map[string]struct {
		flags []string
		want  m
	}{
		"a flag may have a list, as in the crossplane CLI":       {[]string{"a.b/c=1,a.b/d=x=y"}, m{"a.b/c": "1", "a.b/d": "x=y"}},
		"a list of variables is the value of one annotation":     {[]string{"a.b/env=A=1,B=2", "c=3"}, m{"a.b/env": "A=1,B=2", "c": "3"}},
		"an escaped comma does not begin another annotation":     {[]string{`a.b/c=1\,a.b/d=2`}, m{"a.b/c": "1,a.b/d=2"}},
		"a later flag has priority over an earlier one":          {[]string{"a.b/c=1", "a.b/c=2"}, m{"a.b/c": "2"}},
		"an annotation without a value is an error, not ignored": {[]string{"a.b/c"}, nil},
	} {
		got, err := flags.FunctionAnnotations(tc.flags)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v (-want +got):\n%s", reason, err, diff)
		}
	}
}
