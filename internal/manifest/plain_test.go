package manifest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// throughJSON compares the value of a document with its value through the JSON of
// sigs.k8s.io/yaml.
func throughJSON(t *testing.T, text string) {
	t.Helper()
	doc := manifest.Document{Text: []byte(text)}
	var want any
	j, wantErr := yaml.YAMLToJSON(doc.Text)
	if wantErr == nil {
		wantErr = kjson.Unmarshal(j, &want)
	}
	got, err := doc.Value()
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("Value: got error %v, want %v", err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) { // cmp.Diff is exponential in the depth
		t.Errorf("Value: got %.1000s, want %.1000s", fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want))
	}
	_, wantDuplicate := yaml.YAMLToJSONStrict(doc.Text)
	object, isObject := want.(map[string]any)
	obj, duplicate, err := doc.StrictObject()
	if (err == nil) != isObject {
		t.Errorf("StrictObject: got error %v for %T", err, want)
	}
	if (duplicate != nil) != (wantDuplicate != nil) {
		t.Errorf("StrictObject: got duplicate %v, want %v", duplicate, wantDuplicate)
	}
	if err == nil && !reflect.DeepEqual(obj, object) {
		t.Errorf("StrictObject: got %.1000s, want %.1000s", fmt.Sprintf("%#v", obj), fmt.Sprintf("%#v", object))
	}
}

// TestThroughJSON compares values that are decoded without JSON between with those of the library.
func TestThroughJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text string }{
		"Plain":      {"an object has values of each type of JSON", "a: x\nb: 1\nc: 1.5\nd: true\ne:\nf: {}\ng: []\nh: [{i: j}, [k]]\n"},
		"Float":      {"a float without a fraction is a whole number", "[1.0, 1e3, -0.0, 1e21, 1e300, 5e-324, 0.1]"},
		"Whole":      {"a whole number is larger than an int64", "[9223372036854775807, 9223372036854775808, 18446744073709551616, -9223372036854775809]"},
		"Bases":      {"whole numbers have other bases", "[0x1F, 0o17, 017, 0b11, 1_000, 190:20:30]"},
		"NotNumbers": {"a number is infinite", "a: .inf"},
		"NaN":        {"a number is not a number", "a: .nan"},
		"Words":      {"words are booleans in YAML 1.1", "[yes, no, on, off, y, n, ~, Null, True]"},
		"Keys":       {"keys are numbers, booleans and words", "1: a\n1.5: b\ntrue: c\nyes: d\nx: e\n"},
		"NullKey":    {"a key is null", "~: a"},
		"ListKey":    {"a key is a list", "? [a]\n: b\n"},
		"Duplicate":  {"a key occurs twice", "a: 1\nb: 2\na: 3\n"},
		"Same":       {"a number and a text are the same key in JSON", "1: a\n'1': a\n"},
		"Anchors":    {"an alias is a copy", "a: &x {b: [1]}\nc: *x\nd: {<<: *x, e: 2}\n"},
		"Time":       {"a time is text, unless a tag says so", "[2001-01-01, 2001-01-01T00:00:00Z, !!timestamp 2001-01-01]"},
		"Binary":     {"a binary value is not UTF-8", "a: !!binary /w==\nb: !!binary YQ==\n"},
		"BinaryKey":  {"a binary key is not UTF-8", "!!binary /w==: a"},
		"Escapes":    {"texts have characters that JSON escapes", `a: "<é>&\u2028\u0000\x7f\ud800"`},
		"Latin":      {"the document is not UTF-8", "a: \xff"},
		"Tags":       {"tags change the types", "[!!str 1, !!int '1', !!float 1, !own x]"},
		"Depth":      {"the value is deeper than the limit", strings.Repeat("[", 200) + strings.Repeat("]", 200)},
		"Text":       {"the document is a text", "abc"},
		"List":       {"the document is a list", "[1]"},
		"Empty":      {"the document is empty", "# only a comment\n"},
		"Syntax":     {"a bracket is not closed", "a: [1"},
		"Two":        {"two documents follow each other", "a: 1\n---\nb: 2\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			throughJSON(t, tc.text)
		})
	}
}

// FuzzThroughJSON does the same for other documents.
func FuzzThroughJSON(f *testing.F) {
	f.Add("a: 1\nb: [1.0, x, ~]\n1: yes\n")
	f.Add("a: &x {b: 1}\nc: *x\nd: {<<: *x}\n? [a]\n")
	f.Add(`{"a": "\ud800", "b": 1e3}`)
	f.Fuzz(throughJSON)
}
