package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// TestMergeKeys checks that a key which replaces a merged value is not a duplicate key.
func TestMergeKeys(t *testing.T) {
	const base = "p: &p {a: 1, b: 2, true: 3}\n"
	cases := map[string]struct {
		reason, text string
		want         map[string]any
		duplicate    string
	}{
		"Override":  {"a key may replace a merged value", base + "q: {<<: *p, b: 3}\n", map[string]any{"a": int64(1), "b": int64(3), "true": int64(3)}, ""},
		"Block":     {"a key of a block may replace a merged value", base + "q:\n  <<: *p\n  a: 4\n  b: 3\n", map[string]any{"a": int64(4), "b": int64(3), "true": int64(3)}, ""},
		"Boolean":   {"a key may replace a merged value whose key has another text", base + "q: {<<: *p, yes: 4}\n", map[string]any{"a": int64(1), "b": int64(2), "true": int64(4)}, ""},
		"Several":   {"the first of several merged objects has precedence", base + "q: {<<: [{a: 9}, *p], b: 3}\n", map[string]any{"a": int64(9), "b": int64(3), "true": int64(3)}, ""},
		"Nested":    {"an object that is merged may itself merge", base + "q: {<<: {<<: *p, a: 5}, b: 3}\n", map[string]any{"a": int64(5), "b": int64(3), "true": int64(3)}, ""},
		"Before":    {"a merged value that replaces an earlier key is a duplicate", base + "q: {b: 3, <<: *p}\n", map[string]any{"a": int64(1), "b": int64(2), "true": int64(3)}, `f.yaml:2: key "b" already set in map`},
		"Twice":     {"a key that is written twice is a duplicate", base + "q: {<<: *p, c: 3,\n  c: 4, b: 1}\n", map[string]any{"a": int64(1), "b": int64(1), "c": int64(4), "true": int64(3)}, `f.yaml:3: key "c" already set in map`},
		"TwiceBool": {"two texts of one boolean are a duplicate", base + "q: {<<: *p, b: 3, on: 1, yes: 2}\n", map[string]any{"a": int64(1), "b": int64(3), "true": int64(2)}, `f.yaml:2: key true already set in map`},
		"Quoted":    {"a merge key in quotes is an ordinary key", "q: {'<<': 1, '<<': 2}\n", map[string]any{"<<": int64(2)}, `f.yaml:1: key "<<" already set in map`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc := manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(tc.text)}
			obj, duplicate, err := doc.StrictObject()
			e2e.NoError(t, err)
			if diff := cmp.Diff(tc.want, obj["q"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			e2e.WantError(t, tc.reason, duplicate, tc.duplicate)
			_, err = doc.StrictJSON()
			e2e.WantError(t, tc.reason, err, tc.duplicate)
		})
	}
}
