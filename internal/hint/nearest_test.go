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
		"Swapped":    {"letters change places", "regoin", []string{"region", "reason"}, "region"},
		"Missing":    {"a letter is missing", "equls", []string{"exists", "equals"}, "equals"},
		"Case":       {"case does not matter", "extraresources", []string{"extraResources"}, "extraResources"},
		"First":      {"of equals the first counts", "ab", []string{"abc", "abd"}, "abc"},
		"Far":        {"what is not alike is not meant", "region", []string{"size", "name"}, ""},
		"AllDiffers": {"nor is what shares no letter", "ab", []string{"cd"}, ""},
		"None":       {"there may be no names", "a", nil, ""},
		"Itself":     {"the name itself is nearest", "x", []string{"y", "x"}, "x"},
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
