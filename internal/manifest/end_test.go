package manifest_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

func TestAfterEnd(t *testing.T) {
	t.Parallel()
	large := `{"a": "` + strings.Repeat("x", 2<<20) + `"}`
	cases := map[string]struct {
		reason, text string
		want         int
	}{
		"OneBlock":      {"an object in block style has no content after its end", "a: 1\nb: {c: d}\n", 0},
		"OneJSON":       {"blanks and comments after JSON are no content", "# c\n{\"a\": \"}\\\"\"}\n\n# c\n", 0},
		"OneFlow":       {"an object in flow style may have single quotes", "{a: '\"}'}\n", 0},
		"Comment":       {"a comment in flow style may have brackets", "{a: b, # }\nc: d}\n", 0},
		"OneIndented":   {"an indented object has no content after its end", "  a: 1\n  b: 2\n", 0},
		"OneEnded":      {"an end line may be the last line", "a: 1\n...\n# c\n", 0},
		"Invalid":       {"a syntax error has an error of its own", "{\"a\": 1\n", 0},
		"TwoOnOneLine":  {"a second JSON object may be on the line of the first", `{"a": {}}{"b": 1}`, 1},
		"TwoJSON":       {"the line of the second JSON object is reported", "{\n\"a\": [1]\n}\n\n{\"b\": 1}\n{\"c\": 1}\n", 5},
		"TwoLarge":      {"large JSON objects are checked", large + "\n" + large, 2},
		"TwoFlow":       {"the line of the second object in flow style is reported", "{a: 1}\n# c\n{b: 1}\n", 3},
		"AfterIndented": {"a less indented key ends the object", "  a: 1\nb: 2\n", 2},
		"Directive":     {"a directive ends the object", "a: 1\n%YAML 1.1\nb: 2\n", 1},
		"AfterEnded":    {"an end line ends the object", "a: 1\n...\n\nb: 2\n", 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(tc.text)}.AfterEnd()
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
