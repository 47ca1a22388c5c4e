package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

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
			if errors.Is(err, spec.ErrPatternTooLarge) != tc.large {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			if !tc.large && (err == nil) != (tc.wantErr == "") || tc.wantErr != "" && err.Error() != tc.wantErr {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	e := e2e.Must(spec.CompilePattern("b(c+)"))(t)
	if ok, err := e.MatchString("abcc"); !ok || err != nil {
		t.Errorf("got %t, %v", ok, err)
	}
	if got, err := e.FindStringSubmatch("abccd"); len(got) != 2 || got[1] != "cc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	slow := e2e.Must(spec.CompilePattern("(?:a?){900}b"))(t)
	text := strings.Repeat("a", 4<<20)
	e2e.ErrorHas(t, "MatchString", e2e.Err(slow.MatchString(text)), "too large for a text of 4194304 bytes")
	if _, err := slow.FindStringSubmatch(text); err == nil {
		t.Error("FindStringSubmatch did not limit the search")
	}
}
