package hint_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/hint"
)

func TestName(t *testing.T) {
	cases := map[string]struct {
		reason, wrong string
		names         []string
		want          string
	}{
		"Swapped":    {"two swapped letters are similar", "regoin", []string{"region", "reason"}, "region"},
		"Missing":    {"a missing letter is similar", "equls", []string{"exists", "equals"}, "equals"},
		"Case":       {"case is ignored", "extraresources", []string{"extraResources"}, "extraResources"},
		"First":      {"the first of several equally similar names is returned", "ab", []string{"abc", "abd"}, "abc"},
		"Far":        {"a name that differs too much is not returned", "region", []string{"size", "name"}, ""},
		"AllDiffers": {"a name without a common letter is not returned", "ab", []string{"cd"}, ""},
		"None":       {"an empty list of names has no match", "a", nil, ""},
		"OtherWord":  {"a name with another word has another meaning", "compositeDeletePolicy", []string{"compositionUpdatePolicy"}, ""},
		"Words":      {"a misspelled word of several is similar", "compositonUpdtePolicy", []string{"compositionUpdatePolicy"}, "compositionUpdatePolicy"},
		"Itself":     {"an exact match is returned", "x", []string{"y", "x"}, "x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hint.Nearest(tc.wrong, tc.names); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "acbd", 1}, {"flaw", "lawn", 2}} {
		if got := hint.EditDistance(tc.a, tc.b); got != tc.want || hint.EditDistance(tc.b, tc.a) != tc.want {
			t.Errorf("%q, %q: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
