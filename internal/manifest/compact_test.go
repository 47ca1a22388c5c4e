package manifest_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// long returns elements of a list that are large enough to be compacted, with a separator.
func long(element, separator string) string {
	return strings.TrimSuffix(strings.Repeat(element+separator, 70<<10/len(element+separator)), separator)
}

// TestFromJSON compares lists that FromJSON decodes itself with the output of the library.
func TestFromJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("it decodes large documents twice")
	}
	t.Parallel()
	cases := map[string]struct{ reason, text string }{
		"Whole":     {"whole numbers are int64, also those that repeat", "[" + long("1,1,-2,0,-0,9223372036854775807", ",") + "]"},
		"Fractions": {"other numbers are float64", `{"a":[` + long("1.0,1e3,-0.0,9223372036854775808,1E+2", ",") + "]}"},
		"Words":     {"lists have booleans and nulls", `{"a":{"b":[` + long("true,false,null,null", ",") + `],"c":1}}`},
		"Strings":   {"strings have brackets, commas, quotes and escapes", `["]",[` + long(`"a,b","[","]\"","\\","\u0041<é>"`, ",") + `],"["]`},
		"Nested":    {"only a list of scalars is decoded as a whole", `[[` + long("1", ",") + `],[` + long("1,[2]", ",") + `],{"a":[` + long("3", ",") + `]}]`},
		"Mark":      {"a string looks like the name of a list", `{"a":["xfn-list-0"],"b":[` + long("1", ",") + "]}"},
		"Last":      {"a comma follows the last element", "[" + long("1", ",") + ",]"},
		"Twice":     {"two commas follow each other", "[" + long("1", ",") + ",,1]"},
		"Number":    {"a number is invalid", "[" + long("1", ",") + ",01]"},
		"Range":     {"a number is larger than a float64", "[" + long("1", ",") + ",1e999]"},
		"Word":      {"a word is invalid", "[" + long("1", ",") + ",nul]"},
		"Open":      {"a string has no end", "[" + long("1", ",") + `,"a]`},
		"Space":     {"elements have white space around them", "[ " + long("1", " , ") + "\n]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want any
			wantErr := kjson.Unmarshal([]byte(tc.text), &want)
			got, err := manifest.FromJSON([]byte(tc.text))
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: got error %v, want %v", tc.reason, err, wantErr)
			}
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("%s: the value differs (-want +got):\n%.1000s", tc.reason, diff)
			}
		})
	}
}

// TestLargeLists compares documents whose lists are compacted with the output of the YAML
// library for the whole document.
func TestLargeLists(t *testing.T) {
	if testing.Short() {
		t.Skip("it decodes large documents twice")
	}
	cases := map[string]struct{ reason, text string }{
		"Flow":            {"a list is in flow style", "a: [" + long("1", ", ") + "]\nb: 2\n"},
		"JSON":            {"the document is JSON", `{"a":[` + long(`"x y"`, ",") + `],"b":{"c":[` + long("null", ",") + `]}}`},
		"Lines":           {"a list has a line for each element", "a: [\n  " + long("true", ",\n  ") + "\n]\nb: 2\n"},
		"Nested":          {"lists contain lists", "a: [" + long("[1, [], [-2, false]]", ", ") + "]\n"},
		"Objects":         {"a list contains objects and large lists", "a: [{b: 1}, [" + long("1", ",") + "], x, 1.5]\n"},
		"Block":           {"a list is in block style", "a:\n  " + long("- 1", "\n  ") + "\nb: 2\n"},
		"BlockEnd":        {"the next line continues the last element", "a:\n" + long("- 1", "\n") + "\n   2\nb: 2\n"},
		"BlockMixed":      {"other elements surround simple ones", "a:\n- x: 1\n" + long(`- "x"`, "\n") + "\n- - 1\n  - 2\n"},
		"Continued":       {"each element continues on a line that looks like another one", "a:\n" + long("- foo\n  - bar", "\n") + "\n"},
		"ContinuedQuoted": {"a line below a quoted element is indented more, which is an error", "a:\n" + long("- \"foo\"\n  - \"bar\"", "\n") + "\n"},
		"OpenElement":     {"the last element has no value and no end of the line", "a:\n" + long("- 1", "\n") + "\n- "},
		"BlockInBlock":    {"a list in block style is an element", "a:\n- b:\n  " + long("- 1", "\n  ") + "\n- 2\n"},
		"Literal":         {"a string in literal style contains the lines of a list", "a: |\n  " + long("- 1", "\n  ") + "\n"},
		"Folded":          {"a plain scalar continues with lines that look like elements of a list", "a: x\n  " + long("- 1", "\n  ") + "\n"},
		"Quoted":          {"a quoted string contains a list", `a: "[` + long("1", ", ") + `]"` + "\n"},
		"SingleQuoted":    {"a single-quoted string contains a list", `a: '[` + long(`"x"`, ", ") + `]'` + "\n"},
		"Plain":           {"a plain string contains a list", "a: x [" + long("1", ", ") + "]\n"},
		"Comment":         {"a comment contains a list", "a: 1 # [" + long("1", ", ") + "]\nb: [1]\n"},
		"QuotedBrackets":  {"brackets are in different strings", `{"a [" : "` + long("x", " ") + `", "] b": 2}`},
		"CrossingStrings": {"a bracket in a string seems to begin a list of strings", `["x [", "` + long("y", " ") + `", "]"]`},
		"BracketKeys":     {"keys contain brackets", `{"k [" : 1, "] x": [` + long("1", ",") + `]}`},
		"Anchor":          {"an alias repeats a list", "a: &a [" + long("1", ", ") + "]\nb: *a\n"},
		"Mark":            {"the document contains the text that replaces lists", "a: [" + long("1", ", ") + "]\nb: [xfn-list-0]\n"},
		"Escapes":         {"strings contain escapes and HTML", `a: [` + long(`"\u0041<\n"`, ", ") + "]\n"},
		"Numbers":         {"numbers have other forms in YAML than in JSON", "a: [" + long("0x1F, 010, 1_000, 0b1, 1e3, .5, +1, 12345678901234567890", ", ") + "]\n"},
		"TrailingComma":   {"a comma may follow the last element", "a: [" + long("1", ", ") + ", ]\n"},
		"CRLF":            {"lines end with a carriage return", "a:\r\n- " + long("1", "\r\n- ") + "\r\n"},
		"DuplicateKey":    {"a later value of a duplicate key replaces the list", "a: [" + long("1", ", ") + "]\na: 1\n"},
		"Key":             {"a list cannot be a key", "? [" + long("1", ", ") + "]\n: 1\n"},
		"Unclosed":        {"a list has no end", "a: [" + long("1", ", ") + "\n"},
		"NoComma":         {"two lists have no comma between them", "a: [[1] [" + long("1", ", ") + "]]\n"},
		"BlockObjects":    {"a list in block style has objects", "a:\n" + long("- b: 1\n  c: {d: [x]}", "\n") + "\nb: 2\n"},
		"BlockNested":     {"elements have lists, literals and blank lines", "a:\n" + long("- b:\n  - |\n    - x\n\n     y\n# no\n  - 2", "\n") + "\n"},
		"BlockHuge":       {"elements after a short one have large lists", "a:\n- 1\n- b:\n  " + strings.Repeat(long("- c: 1", "\n  ")+"\n  ", 3) + "- 2\n- 3\n"},
		"BlockQuoted":     {"quoted strings have lines like elements", "a:\n" + long("- \"b\n- c\"", "\n") + "\n"},
		"BlockHalfQuoted": {"a quoted string surrounds lines like elements", "a: \"\n" + long("- b: 1", "\n") + "\"\n"},
		"BlockTwice":      {"elements have a key twice", "a:\n" + long("- b: 1\n  b: 2", "\n") + "\n"},
		"BlockAliases":    {"elements refer to an anchor before the list", "x: &x 1\na:\n" + long("- b: *x", "\n") + "\n"},
		"BlockAnchors":    {"elements define an anchor again, and a field refers to it", "x: &x 1\na:\n" + long("- b: &x 2", "\n") + "\nc: *x\n"},
		"BlockWide":       {"elements begin with several spaces or a lone dash", "a:\n" + long("-   b: 1\n    c: 2\n-\n  b: 3", "\n") + "\n"},
		"BlockTab":        {"an element has a tab after its dash", "a:\n" + long("- b: 1", "\n") + "\n-\tc\n" + long("- b: 1", "\n") + "\n"},
		"BlockEndsEarly":  {"the document ends before the list does", "a: 1\n...\n" + long("- b: 1", "\n") + "\n"},
		"BlockWords":      {"words are booleans, nulls and strings", "a:\n" + long("- yes\n- y\n- Null\n- abc\n- True\n- ~\n- a1\n- off\n- NaN\n- .inf\n- 2001-01-01\n- 1:30", "\n") + "\n"},
		"FlowObjects":     {"a list in flow style has objects", "a: [" + long(`{b: 1, "c": {}, d1: [x, {e: yes}]}`, ", ") + "]\n"},
		"FlowWords":       {"words in flow style are strings", "a: [" + long(`{bc: de, "f":"g", h: [i, true, null]}`, ", ") + "]\n"},
		"FlowTwice":       {"an object in flow style has a key twice", "a: [" + long(`{"b": 1, "c": 2, "b": 3}`, ", ") + "]\n"},
		"FlowPairs":       {"an element in flow style is a pair", "a: [" + long(`b: c`, ", ") + "]\n"},
		"FlowNoSpace":     {"a key in flow style has no space after its colon", "a: [" + long(`{b:c}`, ", ") + "]\n"},
		"JSONObjects":     {"a list in JSON has objects with escapes and fractions", `{"kind":"List","items":[` + long(`{"a":"x\"\n\\\t<é>","b":-1.50,"c":0.0001,"d":123456789.125,"e":-0.0,"f":-0,"g":1.0}`, ",") + `]}`},
		"JSONLongKey":     {"a key in JSON is longer than YAML allows", `{"a":[` + long(`1`, ",") + `],"` + strings.Repeat("k", 1100) + `":1}`},
		"JSONComma":       {"a comma follows the last element in JSON", `{"a":[` + long(`1`, ",") + `],}`},
		"Tag":             {"a list has a tag", "a: !!str [" + long("1", ", ") + "]\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := manifest.Document{Path: "a.yaml", Line: 1, Text: []byte(tc.text)}
			want, wantErr := yaml.YAMLToJSONStrict(doc.Text)
			got, err := doc.StrictJSON()
			if (err != nil) != (wantErr != nil) || err == nil && string(canonical(t, got)) != string(canonical(t, want)) {
				t.Errorf("%s: got %.80s, error %v, want %.80s, error %v", tc.reason, got, err, want, wantErr)
			}
			want, wantErr = yaml.YAMLToJSON(doc.Text)
			value, err := doc.Value()
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%s: got error %v, want %v", tc.reason, err, wantErr)
			}
			if err != nil {
				return
			}
			text := e2e.Must(json.Marshal(value))(t)
			e2e.Equal(t, tc.reason, string(canonical(t, want)), string(text))
		})
	}
}

// canonical returns the JSON of the value in a JSON text.
func canonical(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	e2e.NoError(t, kjson.Unmarshal(text, &v))
	return e2e.Must(json.Marshal(v))(t)
}

// TestLargeListMemory checks that decoding a list allocates at most 40 times its size,
// which includes the garbage of a growing slice. The YAML library allocates 100 times.
func TestLargeListMemory(t *testing.T) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"flow":  "spec: {a: [" + strings.Repeat("1, ", size/3) + "1]}\n",
		"block": "spec:\n  a:\n" + strings.Repeat("  - 1\n", size/6) + "b: 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			doc := manifest.Document{Text: []byte(text)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, err := doc.Value()
			runtime.ReadMemStats(&after)
			e2e.NoError(t, err)
			if factor := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text)); factor > 40 {
				t.Errorf("decoding allocated %.0f times the size of the document, want at most 40", factor)
			}
			runtime.KeepAlive(v)
		})
	}
}

// FuzzLargeLists compares a document whose lists are compacted with the output of the YAML
// library. It repeats a part of the document, so that lists become large.
func FuzzLargeLists(f *testing.F) {
	f.Add("a: [", "1, ", "2]\n")
	f.Add("a:\n", "- 1\n", "- x\n")
	f.Add(`{"a [": ["`, `", "`, `]`+"\n"+`"], "b": 1}`)
	f.Fuzz(func(t *testing.T, before, part, after string) {
		if len(part) == 0 || len(before)+len(part)+len(after) > 1000 {
			return
		}
		text := []byte(before + strings.Repeat(part, 66<<10/len(part)) + after)
		want, wantErr := yaml.YAMLToJSONStrict(text)
		got, err := manifest.Document{Text: text}.StrictJSON()
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		want, got = canonical(t, want), canonical(t, got)
		if diff := cmp.Diff(fmt.Sprintf("%.100s", want), fmt.Sprintf("%.100s", got)); diff != "" || string(want) != string(got) {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkLargeList(b *testing.B) {
	text := []byte("spec: {a: [" + strings.Repeat("1, ", 1<<20) + "1]}\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		e2e.NoError(b, e2e.Err((manifest.Document{Text: text}).Value()))
	}
}
