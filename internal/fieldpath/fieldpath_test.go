package fieldpath_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

func TestParse(t *testing.T) {
	key, index := fieldpath.Key, fieldpath.Index
	cases := map[string]struct {
		reason, text string
		want         fieldpath.Path
		wantErr      string
	}{
		"Empty":          {"the empty path has no segments", "", fieldpath.Path{}, ""},
		"Names":          {"dots stand between names", "spec.a", fieldpath.Path{key("spec"), key("a")}, ""},
		"Index":          {"a number in brackets is an index", "a[0][12].b", fieldpath.Path{key("a"), index(0), index(12), key("b")}, ""},
		"LeadingZeros":   {"however it is written", "a[007]", fieldpath.Path{key("a"), index(7)}, ""},
		"LargeNumber":    {"up to 32 bits", "a[4294967296]", fieldpath.Path{key("a"), key("4294967296")}, ""},
		"NumberAsName":   {"outside of brackets it is a key", "o.0", fieldpath.Path{key("o"), key("0")}, ""},
		"QuotedNumber":   {"and in quotes, too", "o['0']", fieldpath.Path{key("o"), key("0")}, ""},
		"Brackets":       {"dots mean nothing in brackets", "a[b.c/d: e].f", fieldpath.Path{key("a"), key("b.c/d: e"), key("f")}, ""},
		"Quotes":         {"quotes around a key go, even in pairs that do not fit", `a["b"].'c"`, fieldpath.Path{key("a"), key("b"), key("c")}, ""},
		"NameAfter":      {"a name may follow a bracket at once", "a[0]b", fieldpath.Path{key("a"), index(0), key("b")}, ""},
		"BracketFirst":   {"a path may begin with a bracket", "[0].a", fieldpath.Path{index(0), key("a")}, ""},
		"Wildcards":      {"a star is a key like any other", "a[*].*", fieldpath.Path{key("a"), key("*"), key("*")}, ""},
		"Unicode":        {"names are of any characters", "spec.größe", fieldpath.Path{key("spec"), key("größe")}, ""},
		"LeadingDot":     {"a dot has something before it", ".a", nil, `cannot parse path ".a": unexpected '.' at position 0`},
		"TrailingDot":    {"and after it", "a.", nil, `cannot parse path "a.": unexpected '.' at position 1`},
		"DoubleDot":      {"which is a name", "a..b", nil, `cannot parse path "a..b": unexpected '.' at position 2`},
		"DotBracket":     {"not a bracket", "a.[0]", nil, `cannot parse path "a.[0]": unexpected '[' at position 2`},
		"OnlyDot":        {"one dot is both", ".", nil, `cannot parse path ".": unexpected '.' at position 0`},
		"EmptyBrackets":  {"brackets hold something", "a[]", nil, `cannot parse path "a[]": unexpected ']' at position 2`},
		"StrayBracket":   {"and are opened first", "a]b", nil, `cannot parse path "a]b": unexpected ']' at position 1`},
		"DotStray":       {"after a dot, too", "a.]", nil, `cannot parse path "a.]": unexpected ']' at position 2`},
		"NestedBrackets": {"but not twice", "a[b[0]]", nil, `cannot parse path "a[b[0]]": unexpected '[' at position 3`},
		"Unterminated":   {"and are closed", "a[0", nil, `cannot parse path "a[0": unterminated '[' at position 1`},
		"BytePositions":  {"positions count bytes", "ä..b", nil, `cannot parse path "ä..b": unexpected '.' at position 3`},
	}
	long := strings.Repeat("a.", 1000) + "a"
	cases["TooLong"] = struct {
		reason, text string
		want         fieldpath.Path
		wantErr      string
	}{"a path has an end", long, nil, fmt.Sprintf("cannot parse path %.80q: it has more than 1000 segments", long)}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := fieldpath.Parse(tc.text)
			if text(err) != tc.wantErr {
				t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGet(t *testing.T) {
	const from = `{"a": {"b": [1, {"c": null}], "n": null, "s": "x"}, "*": 7}`
	cases := map[string]struct {
		reason, path, want, wantErr string
		notFound                    bool
	}{
		"Nowhere":     {"the empty path leads to nothing", "", "null", "", false},
		"Field":       {"fields and elements lead on", "a.b[0]", "1", "", false},
		"Null":        {"a null is there", "a.b[1].c", "null", "", false},
		"Star":        {"a star is a key when reading", "[*]", "7", "", false},
		"NoField":     {"a field may be missing", "a.x.y", "", "a.x: no such field", true},
		"NoElement":   {"and an element", "a.b[2]", "", "a.b[2]: no such element", true},
		"BelowNull":   {"or an object be null", "a.n.x", "", "a.n: expected map, got nil", true},
		"BelowText":   {"a text has no fields, ever", "a.s.x", "", "a.s: not an object", false},
		"IndexNull":   {"a null no elements", "a.n[0]", "", "a.n: not an array", false},
		"IndexObject": {"nor an object", "a[0]", "", "a: not an array", false},
		"IndexRoot":   {"the object itself has no name", "[0]", "", ": not an array", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := path(t, tc.path).Get(object(t, from))
			if text(err) != tc.wantErr || fieldpath.IsNotFound(err) != tc.notFound {
				t.Fatalf("%s: got error %v (not found: %t)", tc.reason, err, fieldpath.IsNotFound(err))
			}
			if err == nil {
				compare(t, tc.reason, tc.want, got)
			}
		})
	}
}

func TestSet(t *testing.T) {
	cases := map[string]struct{ reason, from, path, want, wantErr string }{
		"Field":        {"a field is set", `{"a": 1, "b": 2}`, "a", `{"a": "v", "b": 2}`, ""},
		"Made":         {"what is missing on the way is made", `{}`, "a.b[1].c", `{"a": {"b": [null, {"c": "v"}]}}`, ""},
		"Longer":       {"a list grows", `{"l": [1]}`, "l[3]", `{"l": [1, null, null, "v"]}`, ""},
		"LongerInside": {"at any depth", `{"l": [[1]]}`, "l[1][1]", `{"l": [[1], [null, "v"]]}`, ""},
		"Element":      {"an element is replaced", `{"l": [1, 2]}`, "l[0]", `{"l": ["v", 2]}`, ""},
		"NullElement":  {"an element that is null gives way", `{"l": [null]}`, "l[0].a", `{"l": [{"a": "v"}]}`, ""},
		"NullList":     {"also to a list", `{"l": [null]}`, "l[0][0]", `{"l": [["v"]]}`, ""},
		"Nothing":      {"the empty path sets nothing", `{"a": 1}`, "", `{"a": 1}`, ""},
		"Most":         {"the largest index", `{"l": [1]}`, "l[1024].a[1025]", `{"l": [1]}`, "index 1025 is greater than max allowed index 1024"},
		"NullField":    {"a field that is null does not give way", `{"a": null}`, "a.b", `{"a": null}`, "a is not an object"},
		"NullFieldAt":  {"nor to a list", `{"a": null}`, "a[0]", `{"a": null}`, "a is not an array"},
		"Scalar":       {"nor does anything else", `{"a": {"s": 1}}`, "a.s.t", `{"a": {"s": 1}}`, "a.s is not an object"},
		"ListAsObject": {"a list has no fields", `{"l": []}`, "l.a", `{"l": []}`, "l is not an object"},
		"ObjectAsList": {"an object no elements", `{"o": {}}`, "o[0]", `{"o": {}}`, "o is not an array"},
		"Root":         {"least of all the first", `{}`, "[0]", `{}`, " is not an array"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.from)
			err := path(t, tc.path).Set(obj, "v")
			if text(err) != tc.wantErr {
				t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.wantErr)
			}
			compare(t, tc.reason, tc.want, obj)
		})
	}
}

// A list that grows must not change another list with the same array.
func TestSetDoesNotShare(t *testing.T) {
	list := make([]any, 1, 8)
	a, b := map[string]any{"l": list}, map[string]any{"l": list}
	for _, o := range []map[string]any{a, b} {
		if err := path(t, "l[1]").Set(o, "v"); err != nil {
			t.Fatal(err)
		}
	}
	a["l"].([]any)[1] = "changed"
	compare(t, "each has a list of its own", `{"l": [null, "v"]}`, b)
}

func TestExpand(t *testing.T) {
	const from = `{"l": [{"k": 1}, {}, {"k": null}], "m": {"b": {"k": 1}, "a.b": {"k": 2}}, "n": null, "s": "x", "e": [], "t": [{"c": [1, 2]}, {"c": [3]}], "u": [{"c": [1]}, {"c": null}], "v": [{"c": "s"}]}`
	cases := map[string]struct {
		reason, path, wantErr string
		want                  []string
		notFound              bool
	}{
		"None":       {"a path without wildcards stands for itself", "l[0].k", "", []string{"l[0].k"}, false},
		"List":       {"each element that leads somewhere counts, nulls too", "l[*].k", "", []string{"l[0].k", "l[2].k"}, false},
		"Map":        {"each key counts, in order", "m[*].k", "", []string{"m[a.b].k", "m.b.k"}, false},
		"Nested":     {"wildcards nest", "t[*].c[*]", "", []string{"t[0].c[0]", "t[0].c[1]", "t[1].c[0]"}, false},
		"Empty":      {"there may be nothing", "e[*].k", "", nil, false},
		"Absent":     {"or not even a list", "x[*].k", "", nil, false},
		"Null":       {"a null is missing", "n[*].k", `cannot expand wildcards for segments: "n[*].k": wildcard field "n" is not found in the path`, nil, true},
		"Scalar":     {"a text cannot be expanded", "s[*]", `cannot expand wildcards for segments: "s[*]": "s": unexpected wildcard usage`, nil, false},
		"InnerNull":  {"an inner null says where", "u[*].c[*]", `cannot expand wildcards for segments: "u[*].c[*]": "u[1].c[*]": cannot expand wildcards: wildcard field "u[1].c" is not found in the path`, nil, true},
		"InnerText":  {"so does an inner text", "v[*].c[*]", `cannot expand wildcards for segments: "v[*].c[*]": "v[0].c[*]": cannot expand wildcards: "v[0].c": unexpected wildcard usage`, nil, false},
		"NotAnArray": {"and a path that cannot be", "m[0][*]", `cannot expand wildcards for segments: "m[0][*]": m: not an array`, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := path(t, tc.path).Expand(object(t, from))
			if text(err) != tc.wantErr || fieldpath.IsNotFound(err) != tc.notFound {
				t.Errorf("%s: got error %v (not found: %t)", tc.reason, err, fieldpath.IsNotFound(err))
			}
			var texts []string
			for _, p := range got {
				texts = append(texts, p.String())
			}
			if diff := cmp.Diff(tc.want, texts); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzPath checks that Get returns the value that Set has set.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a", "a.b[0].c", "a[b.c]", "a['x']", "[0]", "a[*].b", "", "a..b", "a[1024][3]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := fieldpath.Parse(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "cannot parse path") {
				t.Error(err)
			}
			return
		}
		obj := map[string]any{}
		if err := p.Set(obj, "v"); err != nil {
			return
		}
		if got, err := p.Get(obj); len(p) > 0 && (got != "v" || err != nil) {
			t.Errorf("%q: got %v, %v after it was set", path, got, err)
		}
		if _, err := p.Expand(obj); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	})
}

func path(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func compare(t *testing.T, reason, want string, got any) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
