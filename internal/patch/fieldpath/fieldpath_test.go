package fieldpath_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

func TestParse(t *testing.T) {
	key, index := fieldpath.Key, fieldpath.Index
	cases := map[string]struct {
		reason, text string
		want         fieldpath.Path
		wantErr      string
	}{
		"Empty":          {"the empty path has no segments", "", fieldpath.Path{}, ""},
		"Names":          {"dots separate names", "spec.a", fieldpath.Path{key("spec"), key("a")}, ""},
		"Index":          {"a number in brackets is an index", "a[0][12].b", fieldpath.Path{key("a"), index(0), index(12), key("b")}, ""},
		"LeadingZeros":   {"leading zeros of an index are ignored", "a[007]", fieldpath.Path{key("a"), index(7)}, ""},
		"LargeNumber":    {"a number above 32 bits is a key", "a[4294967296]", fieldpath.Path{key("a"), key("4294967296")}, ""},
		"NumberAsName":   {"a number outside of brackets is a key", "o.0", fieldpath.Path{key("o"), key("0")}, ""},
		"QuotedNumber":   {"a number in quotes is a key", "o['0']", fieldpath.Path{key("o"), key("0")}, ""},
		"Brackets":       {"dots in brackets do not separate names", "a[b.c/d: e].f", fieldpath.Path{key("a"), key("b.c/d: e"), key("f")}, ""},
		"Quotes":         {"quotes around a key are removed, even if they do not match", `a["b"].'c"`, fieldpath.Path{key("a"), key("b"), key("c")}, ""},
		"NameAfter":      {"a name may directly follow a bracket", "a[0]b", fieldpath.Path{key("a"), index(0), key("b")}, ""},
		"BracketFirst":   {"a path may begin with a bracket", "[0].a", fieldpath.Path{index(0), key("a")}, ""},
		"Wildcards":      {"an asterisk is parsed as a key", "a[*].*", fieldpath.Path{key("a"), key("*"), key("*")}, ""},
		"Unicode":        {"names may have non-ASCII characters", "spec.größe", fieldpath.Path{key("spec"), key("größe")}, ""},
		"LeadingDot":     {"a path must not begin with a dot", ".a", nil, `cannot parse path ".a": unexpected '.' at position 0`},
		"TrailingDot":    {"a path must not end with a dot", "a.", nil, `cannot parse path "a.": unexpected '.' at position 1`},
		"DoubleDot":      {"two dots must have a name between them", "a..b", nil, `cannot parse path "a..b": unexpected '.' at position 2`},
		"DotBracket":     {"a bracket must not follow a dot", "a.[0]", nil, `cannot parse path "a.[0]": unexpected '[' at position 2`},
		"OnlyDot":        {"a single dot is invalid", ".", nil, `cannot parse path ".": unexpected '.' at position 0`},
		"EmptyBrackets":  {"brackets must not be empty", "a[]", nil, `cannot parse path "a[]": unexpected ']' at position 2`},
		"StrayBracket":   {"a closing bracket must have an opening one", "a]b", nil, `cannot parse path "a]b": unexpected ']' at position 1`},
		"DotStray":       {"a closing bracket after a dot must have an opening one", "a.]", nil, `cannot parse path "a.]": unexpected ']' at position 2`},
		"NestedBrackets": {"brackets must not be nested", "a[b[0]]", nil, `cannot parse path "a[b[0]]": unexpected '[' at position 3`},
		"Unterminated":   {"an opening bracket must have a closing one", "a[0", nil, `cannot parse path "a[0": unterminated '[' at position 1`},
		"BytePositions":  {"positions count bytes", "ä..b", nil, `cannot parse path "ä..b": unexpected '.' at position 3`},
	}
	long := strings.Repeat("a.", 1000) + "a"
	cases["TooLong"] = struct {
		reason, text string
		want         fieldpath.Path
		wantErr      string
	}{"a path has at most 1000 segments", long, nil, fmt.Sprintf("cannot parse path %.80q: it has more than 1000 segments", long)}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := fieldpath.Parse(tc.text)
			e2e.Equal(t, tc.reason, tc.wantErr, text(err))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestGet(t *testing.T) {
	const from = `{"a": {"b": [1, {"c": null}], "n": null, "s": "x"}, "*": 7}`
	cases := map[string]struct {
		reason, path, want, wantErr string
		notFound                    bool
	}{
		"Nowhere":     {"the empty path returns null", "", "null", "", false},
		"Field":       {"fields and elements are found", "a.b[0]", "1", "", false},
		"Null":        {"a null is an existing value", "a.b[1].c", "null", "", false},
		"Star":        {"Get reads an asterisk as a key", "[*]", "7", "", false},
		"NoField":     {"a missing field is a not-found error", "a.x.y", "", "a.x: no such field", true},
		"NoElement":   {"a missing element is a not-found error", "a.b[2]", "", "a.b[2]: no such element", true},
		"BelowNull":   {"a field of a null is a not-found error", "a.n.x", "", "a.n: expected map, got nil", true},
		"BelowText":   {"a field of a string is an error that is not not-found", "a.s.x", "", "a.s: not an object", false},
		"IndexNull":   {"an index in a null is an error", "a.n[0]", "", "a.n: not an array", false},
		"IndexObject": {"an index in an object is an error", "a[0]", "", "a: not an array", false},
		"IndexRoot":   {"an index at the root is an error without a name", "[0]", "", ": not an array", false},
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
		"Made":         {"missing objects and lists are created", `{}`, "a.b[1].c", `{"a": {"b": [null, {"c": "v"}]}}`, ""},
		"Longer":       {"a list is extended with nulls", `{"l": [1]}`, "l[3]", `{"l": [1, null, null, "v"]}`, ""},
		"LongerInside": {"a nested list is extended with nulls", `{"l": [[1]]}`, "l[1][1]", `{"l": [[1], [null, "v"]]}`, ""},
		"Element":      {"an element is replaced", `{"l": [1, 2]}`, "l[0]", `{"l": ["v", 2]}`, ""},
		"NullElement":  {"a null element is replaced by an object", `{"l": [null]}`, "l[0].a", `{"l": [{"a": "v"}]}`, ""},
		"NullList":     {"a null element is replaced by a list", `{"l": [null]}`, "l[0][0]", `{"l": [["v"]]}`, ""},
		"Nothing":      {"the empty path sets nothing", `{"a": 1}`, "", `{"a": 1}`, ""},
		"Most":         {"an index above 1024 is an error", `{"l": [1]}`, "l[1024].a[1025]", `{"l": [1]}`, "index 1025 is greater than max allowed index 1024"},
		"NullField":    {"a null field is not replaced by an object", `{"a": null}`, "a.b", `{"a": null}`, "a is not an object"},
		"NullFieldAt":  {"a null field is not replaced by a list", `{"a": null}`, "a[0]", `{"a": null}`, "a is not an array"},
		"Scalar":       {"a scalar is not replaced by an object", `{"a": {"s": 1}}`, "a.s.t", `{"a": {"s": 1}}`, "a.s is not an object"},
		"ListAsObject": {"a field cannot be set in a list", `{"l": []}`, "l.a", `{"l": []}`, "l is not an object"},
		"ObjectAsList": {"an index cannot be set in an object", `{"o": {}}`, "o[0]", `{"o": {}}`, "o is not an array"},
		"Root":         {"an index cannot be set at the root", `{}`, "[0]", `{}`, " is not an array"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.from)
			_, err := path(t, tc.path).Set(obj, "v")
			e2e.Equal(t, tc.reason, tc.wantErr, text(err))
			compare(t, tc.reason, tc.want, obj)
		})
	}
}

// TestSetNulls checks how many nulls Set adds to lists, one of which exists.
func TestSetNulls(t *testing.T) {
	for _, tc := range []struct {
		reason, path string
		want         int
	}{
		{"the first element of a new list has no nulls before it", "a[0]", 0},
		{"a new list gets nulls before its element", "a[3]", 3},
		{"a list of two elements gets nulls from the third element", "l[5]", 3},
		{"an element after the last one needs no nulls", "l[2]", 0},
		{"an element that exists needs no nulls", "l[1]", 0},
		{"the nulls of all lists on the path are counted", "l[4].b[10].c[1]", 2 + 10 + 1},
		{"a path with an index that is too large adds no nulls", "l[4].b[1025]", 0},
	} {
		if got, _ := path(t, tc.path).Set(object(t, `{"l": [1, 2]}`), "v"); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
		}
	}
}

// TestSetDoesNotShare checks that a list that grows does not change another list
// that has the same underlying array.
func TestSetDoesNotShare(t *testing.T) {
	list := make([]any, 1, 8)
	a, b := map[string]any{"l": list}, map[string]any{"l": list}
	for _, o := range []map[string]any{a, b} {
		e2e.NoError(t, e2e.Err(path(t, "l[1]").Set(o, "v")))
	}
	a["l"].([]any)[1] = "changed"
	compare(t, "each object has its own list", `{"l": [null, "v"]}`, b)
}

func TestExpand(t *testing.T) {
	const from = `{"l": [{"k": 1}, {}, {"k": null}], "m": {"b": {"k": 1}, "a.b": {"k": 2}}, "n": null, "s": "x", "e": [], "t": [{"c": [1, 2]}, {"c": [3]}], "u": [{"c": [1]}, {"c": null}], "v": [{"c": "s"}], "w": {"*": 1, "a": 2}}`
	cases := map[string]struct {
		reason, path, wantErr string
		want                  []string
		notFound              bool
	}{
		"None":       {"a path without wildcards expands to itself", "l[0].k", "", []string{"l[0].k"}, false},
		"List":       {"an index wildcard matches elements that have the rest of the path, nulls included", "l[*].k", "", []string{"l[0].k", "l[2].k"}, false},
		"Map":        {"a key wildcard matches each key, sorted", "m[*].k", "", []string{"m[a.b].k", "m.b.k"}, false},
		"Nested":     {"a path may have several wildcards", "t[*].c[*]", "", []string{"t[0].c[0]", "t[0].c[1]", "t[1].c[0]"}, false},
		"Empty":      {"a wildcard for an empty list has no matches", "e[*].k", "", nil, false},
		"Absent":     {"a wildcard for a missing field has no matches", "x[*].k", "", nil, false},
		"Null":       {"a wildcard for a null is a not-found error", "n[*].k", `cannot expand wildcards for segments: "n[*].k": wildcard field "n" is not found in the path`, nil, true},
		"Scalar":     {"a wildcard for a string is an error", "s[*]", `cannot expand wildcards for segments: "s[*]": "s": unexpected wildcard usage`, nil, false},
		"InnerNull":  {"the error about an inner null has its path", "u[*].c[*]", `cannot expand wildcards for segments: "u[*].c[*]": "u[1].c[*]": cannot expand wildcards: wildcard field "u[1].c" is not found in the path`, nil, true},
		"InnerText":  {"the error about an inner string has its path", "v[*].c[*]", `cannot expand wildcards for segments: "v[*].c[*]": "v[0].c[*]": cannot expand wildcards: "v[0].c": unexpected wildcard usage`, nil, false},
		"Asterisk":   {"a wildcard for an object with a key that is a wildcard is an error", "w[*]", `cannot expand wildcards for segments: "w[*]": "w": the object has the key "*", which function-patch-and-transform expands until it crashes`, nil, false},
		"NotAnArray": {"an index in an object is an error during expansion", "m[0][*]", `cannot expand wildcards for segments: "m[0][*]": m: not an array`, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := path(t, tc.path).Expand(object(t, from))
			e2e.Equal(t, tc.reason, tc.wantErr, text(err))
			e2e.Equal(t, tc.reason, tc.notFound, fieldpath.IsNotFound(err))
			var texts []string
			for _, p := range got {
				texts = append(texts, p.String())
			}
			e2e.Equal(t, tc.reason, tc.want, texts)
		})
	}
}

// FuzzPath checks that Get returns the value that Set set at the same path.
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
		if _, err := p.Set(obj, "v"); err != nil {
			return
		}
		if got, err := p.Get(obj); len(p) > 0 && (got != "v" || err != nil) {
			t.Errorf("%q: got %v, %v after it was set", path, got, err)
		}
		// Set wrote the key "*" as it is, and Expand refuses objects with this key.
		if _, err := p.Expand(obj); err != nil && !slices.Contains(p, fieldpath.Key("*")) {
			t.Errorf("%q: %v", path, err)
		}
	})
}

func path(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	return e2e.Must(fieldpath.Parse(text))(t)
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	e2e.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

func compare(t *testing.T, reason, want string, got any) {
	t.Helper()
	var w any
	e2e.NoError(t, json.Unmarshal([]byte(want), &w))
	e2e.Equal(t, reason, w, got)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestMergePatch has the examples of RFC 7386, appendix A.
func TestMergePatch(t *testing.T) {
	for _, tc := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		var v [3]any
		for i, text := range tc {
			e2e.NoError(t, json.Unmarshal([]byte(text), &v[i]))
		}
		e2e.Equal(t, fmt.Sprintf("%s is patched with %s", tc[0], tc[1]), v[2], fieldpath.MergePatch(v[0], v[1]))
	}
}
