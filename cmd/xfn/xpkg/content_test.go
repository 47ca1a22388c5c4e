package xpkg_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/cmd/xfn/xpkg"
)

func TestParseAnnotations(t *testing.T) {
	type m = map[string]string
	cases := map[string]struct {
		reason string
		flags  []string
		want   m
		err    string
	}{
		"None":      {"there need be none", nil, m{}, ""},
		"Several":   {"the flag repeats", []string{"a.b/c=1", "d=x=y"}, m{"a.b/c": "1", "d": "x=y"}, ""},
		"Empty":     {"a value may be empty", []string{"k="}, m{"k": ""}, ""},
		"Last":      {"a later flag wins", []string{"k=1", "k=2"}, m{"k": "2"}, ""},
		"List":      {"the incumbent takes a list", []string{"a=1,b=2,c.d/e-f_g="}, m{"a": "1", "b": "2", "c.d/e-f_g": ""}, ""},
		"Sentence":  {"a comma may be one of a sentence", []string{"title=a, b"}, m{"title": "a, b"}, ""},
		"SpaceList": {"as may one before what is like a key", []string{"title=a, b=c"}, m{"title": "a, b=c"}, ""},
		"Words":     {"a list of words is a value", []string{"k=a,b,c"}, m{"k": "a,b,c"}, ""},
		"End":       {"a comma may be last", []string{"k=a,", "l=,"}, m{"k": "a,", "l": ","}, ""},
		"Twice":     {"and stand twice", []string{"k=a,,l=b"}, m{"k": "a,", "l": "b"}, ""},
		"URL":       {"in a URL it would begin a key", []string{`u=https://x/?a=1\,b=2,v=\`}, m{"u": "https://x/?a=1,b=2", "v": `\`}, ""},
		"NoValue":   {"an annotation is a pair", []string{"k"}, nil, `"k": expected KEY=VALUE`},
		"NoKey":     {"with a key", []string{"=v"}, nil, `"=v": the key is empty`},
		"BlankKey":  {"that can be seen", []string{" =v"}, nil, `" =v": the key is empty`},
		"Nothing":   {"not even that", []string{""}, nil, `"": expected KEY=VALUE`},
		"OfList":    {"each of a list is one", []string{",a=1"}, nil, `"": expected KEY=VALUE`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := xpkg.ParseAnnotations(tc.flags)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.err == "" && err == nil {
				return
			}
			if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) || !errors.As(err, new(*terminal.UsageError)) {
				t.Errorf("%s: got %v, want %q in it", tc.reason, err, tc.err)
			}
		})
	}
}
