package fieldpath_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

func parse(t testing.TB, text string) any {
	t.Helper()
	var v any
	e2e.NoError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}

func TestDiff(t *testing.T) {
	cases := map[string]struct{ reason, before, after, want string }{
		"Same":          {"equal values have no changes", "a: {b: [1, x, null]}", "a: {b: [1, x, null]}", ""},
		"Added":         {"a new field is added", "a: 1", "{a: 1, b: x}", `+ b "x"`},
		"Removed":       {"a removed field is a removal", "{a: 1, b: x}", "a: 1", `- b "x"`},
		"Changed":       {"a different scalar is a change", "a: 1", "a: 2", "~ a 1 2"},
		"Type":          {"a value of a different type is a change", "a: 1", "a: '1'", `~ a 1 "1"`},
		"Null":          {"null and 0 are different values", "a: null", "a: 0", "~ a null 0"},
		"NullAdded":     {"a field with null and a missing field are different", "{}", "a: null", "-  {}\n+ a null"},
		"Leaves":        {"an object is added leaf by leaf", "z: 1", "{z: 1, a: {b: 1, c: {d: 2}}}", "+ a.b 1\n+ a.c.d 2"},
		"Empty":         {"an empty object is a leaf", "a: {}", "a: {b: 1}", "- a {}\n+ a.b 1"},
		"Emptied":       {"an object without fields becomes an empty leaf", "a: {b: 1}", "a: {}", "+ a {}\n- a.b 1"},
		"Lists":         {"lists are compared by index", "a: [x, w]", "a: [w]", `~ a[0] "x" "w"` + "\n" + `- a[1] "w"`},
		"ListToObject":  {"an object that replaces a list has other leaves", "a: [x]", "a: {b: x}", `+ a.b "x"` + "\n" + `- a[0] "x"`},
		"ScalarToTree":  {"an object that replaces a scalar has other leaves", "a: 1", "a: {b: 1}", "- a 1\n+ a.b 1"},
		"Natural":       {"fields are sorted in natural order", "z: 1", "{z: 1, p10: 1, p2: 1, p02: 1}", "+ p02 1\n+ p2 1\n+ p10 1"},
		"ManyIndices":   {"list elements are sorted by number", "a: [0,0,0,0,0,0,0,0,0,0,0]", "a: [0,0,1,0,0,0,0,0,0,0,1]", "~ a[2] 0 1\n~ a[10] 0 1"},
		"Dots":          {"keys with dots are written in brackets", "{}", "metadata: {labels: {example.org/a: b}}", "-  {}\n" + `+ metadata.labels[example.org/a] "b"`},
		"RootDots":      {"a key with dots at the root is written in brackets", "z: 1", "{z: 1, a.b: {c: 1}}", "+ [a.b].c 1"},
		"Brackets":      {"keys that a path cannot express are quoted", "z: 1", `{z: 1, "a]b": 1, "": 2}`, `+ [""] 2` + "\n" + `+ ["a]b"] 1`},
		"Wildcard":      {"an asterisk in a key is not a wildcard", "z: 1", `{z: 1, "*": 1}`, `+ [*] 1`},
		"NumberedField": {"a field with a numeric name is not written as an index", "a: {z: 1}", `a: {z: 1, "0": 1}`, "+ a.0 1"},
		"Root":          {"a scalar at the root has an empty path", "1", "2", "~  1 2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(fieldpath.Diff(parse(t, tc.before), parse(t, tc.after)))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// lines formats each change as a line: the sign, the path, the old and the new value.
func lines(changes []fieldpath.Change) string {
	all := make([]string, len(changes))
	for i, c := range changes {
		old, _ := json.Marshal(c.Old)
		is, _ := json.Marshal(c.New)
		values := map[fieldpath.Op]string{fieldpath.Added: string(is), fieldpath.Removed: string(old), fieldpath.Changed: string(old) + " " + string(is)}
		all[i] = c.Op.Sign() + " " + c.Path + " " + values[c.Op]
	}
	return strings.Join(all, "\n")
}

func TestDiffer(t *testing.T) {
	named := func(v any) string {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		return name
	}
	cases := map[string]struct {
		reason              string
		differ              fieldpath.Differ
		before, after, want string
	}{
		"WholeObject": {"an object on one side is one change", fieldpath.Differ{Whole: true}, "a: 1", "{a: 1, b: {c: 1, d: 2}}", `+ b {"c":1,"d":2}`},
		"WholeList":   {"a list on one side is compared by element", fieldpath.Differ{Whole: true}, "{}", "{a: [1, {b: 2}]}", "+ a[0] 1\n" + `+ a[1] {"b":2}`},
		"WholeInside": {"objects on both sides are compared by key", fieldpath.Differ{Whole: true}, "{a: {b: 1}}", "{a: {b: 2}}", "~ a.b 1 2"},
		"WholeType":   {"an object that becomes a list is one change", fieldpath.Differ{Whole: true}, "{a: {b: 1}}", "{a: [1]}", `~ a {"b":1} [1]`},
		"Name":        {"elements with names are compared by name", fieldpath.Differ{Name: named}, "[{name: x, a: 1}, {name: z}]", "[{name: z}, {name: x, a: 2}]", "~ [x].a 1 2"},
		"NameTwice":   {"elements that share a name are compared by index", fieldpath.Differ{Name: named}, "[{name: x}, {name: x}]", "[{name: x}]", `- [1].name "x"`},
		"Opaque":      {"the value of an opaque key is one leaf", fieldpath.Differ{Opaque: func(k string) bool { return k == "s" }}, "{s: {a: 1}}", "{s: {a: 2}}", `~ s {"a":1} {"a":2}`},
		"LimitExact":  {"a value after exactly the limit is one leaf", fieldpath.Differ{Limit: 1, Whole: true}, "{}", "{a: 1, b: {c: 2, d: 3}}", "+ a 1\n" + `+ b {"c":2,"d":3}`},
		"Limit":       {"a value after the limit is one leaf", fieldpath.Differ{Limit: 1, Whole: true}, "{}", "{a: 1, b: 2, c: {d: 3, e: 4}}", "+ a 1\n+ b 2\n" + `+ c {"d":3,"e":4}`},
		"Raw":         {"raw paths join keys with dots", fieldpath.Differ{Raw: true, Whole: true}, "{}", "{z: 1, a.b: {c: 1}}", `+ a.b {"c":1}` + "\n+ z 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, lines(tc.differ.Diff(parse(t, tc.before), parse(t, tc.after))))
		})
	}
}

func TestDiffOfNothing(t *testing.T) {
	doc := map[string]any{"a": 1.0}
	cases := map[string]struct {
		reason        string
		before, after any
		want          string
	}{
		"Nothing": {"nil and nil have no changes", nil, nil, ""},
		"NilMap":  {"a nil map equals nil", map[string]any(nil), nil, ""},
		"New":     {"all fields of a new object are added", nil, doc, "+ a 1"},
		"Gone":    {"all fields of a deleted object are removed", doc, map[string]any(nil), "- a 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, lines(fieldpath.Diff(tc.before, tc.after)))
		})
	}
}

func TestDiffNumbers(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after any
		same          bool
	}{
		"IntFloat":   {"1 and 1.0 are equal", int64(1), 1.0, true},
		"Ints":       {"integer types do not matter", 7, int32(7), true},
		"Fraction":   {"1 is not 1.5", int64(1), 1.5, false},
		"Large":      {"large numbers are not rounded", int64(1<<53 + 1), float64(1 << 53), false},
		"TooLarge":   {"a float may be larger than any int64", int64(1<<63 - 1), float64(1 << 63), false},
		"JSONNumber": {"a json.Number is compared as a number", json.Number("3"), 3.0, true},
		"JSONFloat":  {"a json.Number with a fraction is compared as a number", json.Number("3.50"), 3.5, true},
		"String":     {"a string does not equal a number", "1", 1.0, false},
		"Zero":       {"minus zero equals zero", 0.0, -1.0 * 0.0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.same, fieldpath.Diff(tc.before, tc.after) == nil)
			e2e.Equal(t, fmt.Sprintf("%s, the other way round: same", tc.reason), tc.same, fieldpath.Diff(tc.after, tc.before) == nil)
		})
	}
}

// nest wraps v in the given number of objects.
func nest(depth int, v any) any {
	for range depth {
		v = map[string]any{"a": v}
	}
	return v
}

func TestDiffIsBounded(t *testing.T) {
	t.Run("Deep", func(t *testing.T) {
		got := fieldpath.Diff(nest(5000, 1.0), nest(5000, 2.0))
		if len(got) != 1 || len(got[0].Path) > 600 {
			t.Errorf("got %d changes, want one at a path of bounded length", len(got))
		}
		if fieldpath.Diff(nest(5000, 1.0), nest(5000, 1.0)) != nil {
			t.Error("equal values differ below the maximum path length")
		}
	})
	t.Run("LongKey", func(t *testing.T) {
		inner := map[string]any{}
		for i := range 10_000 {
			inner[fmt.Sprint(i)] = float64(i)
		}
		got := fieldpath.Diff(nil, map[string]any{strings.Repeat("k", 100_000): inner})
		e2e.Equal(t, "the size of all paths together is limited", 1, len(got))
	})
}

// leaves returns the scalars, empty objects and empty lists in a value, by path.
func leaves(v any) map[string]any {
	all := map[string]any{}
	for _, c := range fieldpath.Diff(nil, v) {
		all[c.Path] = c.New
	}
	return all
}

// FuzzDiff checks that the changes convert one value to the other. The reverse
// diff must have as many changes, and the diff of equal values none.
func FuzzDiff(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":{"b":[1,2,{}]}}`, `{"a":{"b":[1,{"c":2}]}}`},
		{`{"a.b":1,"a":{"b":1},"[0]":2}`, `{"a":[{"b":1}],"":{"":null}}`},
		{`[[],{},null,"x"]`, `{"0":[]}`},
		{`{"a1":1,"a01":2,"a10":3}`, `{"a1":1.5,"a001":1e300}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var before, after any
		if json.Unmarshal([]byte(a), &before) != nil || json.Unmarshal([]byte(b), &after) != nil {
			return
		}
		changes := fieldpath.Diff(before, after)
		got := leaves(before)
		for _, c := range changes {
			if c.Op == fieldpath.Removed {
				delete(got, c.Path)
			}
		}
		for _, c := range changes {
			if c.Op != fieldpath.Removed {
				got[c.Path] = c.New
			}
		}
		if want := leaves(after); !reflect.DeepEqual(want, got) {
			t.Errorf("the changes do not lead there:\n%s", cmp.Diff(want, got))
		}
		e2e.Equal(t, "the reverse diff has as many changes", len(changes), len(fieldpath.Diff(after, before)))
		if same := fieldpath.Diff(after, after); same != nil {
			t.Errorf("a value differs from itself: %v", same)
		}
	})
}

// TestOrder checks that natural order is a total order, so that the result of
// Diff does not depend on the iteration order of maps.
func TestOrder(t *testing.T) {
	names := []string{"", "0", "00", "1", "01", "a", "a0", "a00", "a1", "a01", "a1b", "a2", "a10", "b9z", "b09z", "b10", "é"}
	doc := map[string]any{}
	for _, n := range names {
		doc["k"+n] = true
	}
	want := slices.Collect(maps.Keys(leaves(doc)))
	if len(want) != len(names) {
		t.Fatalf("got %d leaves, want %d", len(want), len(names))
	}
	first := lines(fieldpath.Diff(nil, doc))
	for range 50 {
		if again := lines(fieldpath.Diff(nil, maps.Clone(doc))); again != first {
			t.Fatalf("the order changes:\n%s", cmp.Diff(first, again))
		}
	}
}
