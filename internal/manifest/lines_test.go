package manifest_test

import (
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

const manyFields = `# A comment is not a field.
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
		want          int // the line, counted from the start of the document
	}{
		"Object":        {"the line of an object is the line of its first key", "", 2},
		"Key":           {"the line of a field is the line of its key", "spec", 8},
		"Nested":        {"a nested field has the line of its key", "spec.list", 9},
		"Element":       {"the line of an element is the line of its content", "spec.list[0]", 10},
		"ElementField":  {"a field of an element has the line of its key", "spec.list[0].size", 11},
		"LateElement":   {"the content of an element may begin on the line after its dash", "spec.list[1].name", 13},
		"ListInList":    {"an element of a nested list is found", "spec.list[2][1]", 15},
		"Dots":          {"a key may contain dots", "metadata.annotations.acme.test", 5},
		"DotsBrackets":  {"a key may contain slashes and brackets", "metadata.annotations.acme.test/b[0]", 6},
		"Flow":          {"fields in the flow style are found", "spec.flow.b", 20},
		"DigitsKey":     {"a numeric key is not an index", "spec.0", 18},
		"Twice":         {"of duplicate keys the last one is used", "spec.twice", 17},
		"Absent":        {"a missing field has the line of its parent", "spec.list[1].size", 13},
		"AbsentAtAll":   {"a missing field at the top has the line of the object", "status", 2},
		"AbsentDeep":    {"a deeply missing field has the line of its nearest existing parent", "spec.other.very[3].deep", 8},
		"NoSuchElement": {"an index after the end of a list has the line of the list", "spec.list[7].name", 9},
		"Negative":      {"a negative index has the line of the list", "spec.list[-1]", 9},
		"NotAList":      {"an index in an object has the line of the object", "spec[0]", 8},
		"NotAnObject":   {"a field of a list has the line of the list", "spec.list.name", 9},
		"Scalar":        {"a field of a scalar has the line of the scalar", "kind.x", 2},
		"Prefix":        {"a prefix of a key does not match", "specific", 2},
		"Malformed":     {"an unclosed bracket does not match", "spec.list[", 9},
		"Dot":           {"a single dot does not match", ".", 2},
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
		"Field":   {"a field in an alias has the line of the anchor's field", "copy.x", 2},
		"Alias":   {"an alias has its own line", "copy", 3},
		"Absent":  {"a field missing in an alias has the line of the alias", "copy.z", 3},
		"Merged":  {"fields of a merge key are not searched", "merged.x", 4},
		"Element": {"an alias in a list is resolved", "list[0].x", 2},
		"Itself":  {"an alias may contain itself", "self.s.s.s.s", 8},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, fmt.Sprintf("%s: %s is on line", tc.reason, tc.field), tc.want, lines.Of(tc.field))
		})
	}
}

func TestLinesOfOddDocuments(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         int
	}{
		"NotYAML":  {"fields in invalid YAML have the document's first line", "a: 1\nb: ]\n", 10},
		"Empty":    {"fields in an empty document have its first line", "", 10},
		"Comment":  {"fields in a document with only comments have its first line", "# a\n# b\n", 10},
		"Scalar":   {"fields of a scalar have the scalar's line", "# a\nhello\n", 11},
		"EmptyKey": {"an empty key does not match", "x: 1\n? ''\n: 1\n", 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lines := manifest.Document{Path: "f.yaml", Line: 10, Text: []byte(tc.text)}.Lines()
			for _, field := range []string{"", "b.c", "[0]"} {
				e2e.Equal(t, fmt.Sprintf("%s: %q is on line", tc.reason, field), tc.want, lines.Of(field))
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

// TestBooleans checks that words that YAML 1.1 reads as booleans are found as values and as keys.
func TestBooleans(t *testing.T) {
	doc := manifest.Document{Path: "f.yaml", Line: 5, Text: []byte("a: y\nb: \"y\"\nc: [true, Off, !!str no]\non: 1\n\"on\": 1\nd: {NO : x, yes-and: y, text: 'n: on: '}\ntrue: 1\n")}
	lines := doc.Lines()
	for field, want := range map[string]string{
		"a": `y means true in YAML: write "y"`, "b": "", "c[0]": "", "c[1]": `Off means false in YAML: write "Off"`, "c[2]": "", "c": "", "e": "",
	} {
		e2e.Equal(t, field+": a word is reported only if it is not quoted", want, string(lines.Boolean(field)))
	}
	var keys []string
	for _, at := range doc.BooleanKeys() {
		keys = append(keys, at.Error())
	}
	want := []string{`f.yaml:8: the key on means true in YAML: write "on"`, `f.yaml:10: the key NO means false in YAML: write "NO"`}
	e2e.Equal(t, "keys that YAML 1.1 reads as booleans are found, unless they are quoted", want, keys)
}
