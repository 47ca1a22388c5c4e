package manifest_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/manifest"
)

const manyFields = `# A comment is no field.
kind: Thing
metadata:
  annotations:
    acme.test: a
    acme.test/b[0]: b
    acme: {test: no}
spec:
  list:
  - name: one
    size: 1
  -
    name: two
  - [x,
     y]
  twice: 1
  twice: 2
  "0": zero
  flow: {a: 1,
    b: 2}
`

func TestLines(t *testing.T) {
	cases := map[string]struct {
		reason, field string
		want          int // from the document's begin
	}{
		"Object":        {"the object begins with its first key", "", 2},
		"Key":           {"a field stands where its key does", "spec", 8},
		"Nested":        {"a field's key may be in another one", "spec.list", 9},
		"Element":       {"an element stands where its content does", "spec.list[0]", 10},
		"ElementField":  {"an element has fields", "spec.list[0].size", 11},
		"LateElement":   {"an element may begin a line later", "spec.list[1].name", 13},
		"ListInList":    {"a list's element may be a list", "spec.list[2][1]", 15},
		"Dots":          {"a key may hold dots", "metadata.annotations.acme.test", 5},
		"DotsBrackets":  {"and slashes and brackets", "metadata.annotations.acme.test/b[0]", 6},
		"Flow":          {"the flow style has lines, too", "spec.flow.b", 20},
		"DigitsKey":     {"a key of digits is no index", "spec.0", 18},
		"Twice":         {"of two keys the last one counts", "spec.twice", 17},
		"Absent":        {"a field that is not there is where it should be", "spec.list[1].size", 13},
		"AbsentAtAll":   {"and at the top that is the object", "status", 2},
		"AbsentDeep":    {"however much of it is missing", "spec.other.very[3].deep", 8},
		"NoSuchElement": {"a list may be shorter", "spec.list[7].name", 9},
		"Negative":      {"no index is below zero", "spec.list[-1]", 9},
		"NotAList":      {"an object has no elements", "spec[0]", 8},
		"NotAnObject":   {"a list has no fields", "spec.list.name", 9},
		"Scalar":        {"a scalar has none either", "kind.x", 2},
		"Prefix":        {"a key is a whole word", "specific", 2},
		"Malformed":     {"a name may be odd", "spec.list[", 9},
		"Dot":           {"or odder", ".", 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc := manifest.Document{Path: "f.yaml", Line: 10, Text: []byte(manyFields)}
			if got := doc.Lines().Of(tc.field); got != tc.want+9 {
				t.Errorf("%s: %s is on line %d, want %d", tc.reason, tc.field, got-9, tc.want)
			}
		})
	}
}

func TestLinesOfAliases(t *testing.T) {
	const text = `base: &b
  x: 1
copy: *b
merged:
  <<: *b
  y: 2
list: [*b]
self: &s {s: *s}
`
	lines := manifest.Document{Line: 1, Text: []byte(text)}.Lines()
	cases := map[string]struct {
		reason, field string
		want          int
	}{
		"Field":   {"a field that an alias brings stands where it was written", "copy.x", 2},
		"Alias":   {"the alias itself stands where it is", "copy", 3},
		"Absent":  {"what the alias lacks would be at the alias", "copy.z", 3},
		"Merged":  {"a merged field is not looked for", "merged.x", 4},
		"Element": {"a list may hold aliases", "list[0].x", 2},
		"Itself":  {"an alias may hold itself", "self.s.s.s.s", 8},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := lines.Of(tc.field); got != tc.want {
				t.Errorf("%s: %s is on line %d, want %d", tc.reason, tc.field, got, tc.want)
			}
		})
	}
}

func TestLinesOfOddDocuments(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         int
	}{
		"NotYAML":  {"what is no YAML has only a first line", "a: 1\nb: ]\n", 10},
		"Empty":    {"nothing has only a first line", "", 10},
		"Comment":  {"comments are nothing", "# a\n# b\n", 10},
		"Scalar":   {"a scalar has no fields", "# a\nhello\n", 11},
		"EmptyKey": {"an empty key has no name", "x: 1\n? ''\n: 1\n", 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lines := manifest.Document{Path: "f.yaml", Line: 10, Text: []byte(tc.text)}.Lines()
			for _, field := range []string{"", "b.c", "[0]"} {
				if got := lines.Of(field); got != tc.want {
					t.Errorf("%s: %q is on line %d, want %d", tc.reason, field, got, tc.want)
				}
			}
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(manyFields), "spec.list[2][1]")
	f.Add([]byte("a: &a [*a]"), "a[0][0]")
	f.Add([]byte("'': 1"), "[0].")
	f.Fuzz(func(t *testing.T, text []byte, field string) {
		if got := (manifest.Document{Line: 1, Text: text}).Lines().Of(field); got < 1 {
			t.Errorf("got line %d", got)
		}
	})
}
