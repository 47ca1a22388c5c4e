package gobuild

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 1000) + "\n"
	cases := map[string]struct {
		reason string
		writes []string
		want   string
	}{
		"Nothing":  {"silence stays silence", nil, ""},
		"Short":    {"what fits is kept, without the final newline", []string{"a\n", "b\n"}, "a\nb"},
		"Lines":    {"only the last lines are kept", []string{strings.Repeat("a\n", 100)}, "…\n" + strings.Repeat("a\n", maxLines-1) + "a"},
		"Bytes":    {"a cut line is left out", []string{strings.Repeat(long, 100), "end"}, "…\n" + strings.Repeat(long, 32) + "end"},
		"NotUTF8":  {"an error text must be text", []string{"a\xffb"}, "a?b"},
		"OneWrite": {"a single write may be larger than the bound", []string{strings.Repeat("x", maxBytes+1) + "\nend"}, "…\nend"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got tail
			for _, w := range tc.writes {
				if n, err := got.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("writing: %d, %v", n, err)
				}
			}
			if got.String() != tc.want {
				t.Errorf("%s:\ngot  %.60q\nwant %.60q", tc.reason, got.String(), tc.want)
			}
		})
	}
}
