package spec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

const head = "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\n"

func document(text string) manifest.Document {
	return manifest.Document{Path: "s.yaml", Line: 1, Text: []byte(text)}
}

func parse(t *testing.T, text string) *spec.Suite {
	t.Helper()
	return e2e.Must(spec.Parse(document(head + text)))(t)
}

// TestParseErrors checks that all errors of a suite are returned together, each
// with its line.
func TestParseErrors(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Syntax":     {"invalid YAML is an error", "a: [", []string{"s.yaml:1: did not find expected node content: the document ends before a { or [ is closed"}},
		"Twice":      {"a duplicate key is an error", head + "cases: []\ncases: []\n", []string{`s.yaml:4: key "cases" already set in map`}},
		"List":       {"a suite must be an object", "[]", []string{"s.yaml:1: expected an object, got a list"}},
		"Version":    {"an unknown apiVersion is an error", "apiVersion: xfn.dev/v9\nkind: TestSuite\ncases: [{name: a}]", []string{`s.yaml:1: apiVersion: expected xfn.dev/v1alpha1, got "xfn.dev/v9"`}},
		"Kind":       {"another kind is an error", "apiVersion: xfn.dev/v1alpha1\nkind: Testsuite\ncases: [{name: a}]", []string{`s.yaml:2: kind: expected TestSuite, got "Testsuite"`}},
		"NoCases":    {"a suite without cases is an error", head + "cases: []", []string{"s.yaml:3: the suite has no cases"}},
		"Missing":    {"a missing cases field is an error", head, []string{"s.yaml:1: cases is missing"}},
		"Field":      {"all unknown fields are reported", head + "case: []\ndefaults:\n  compositon: c.yaml\n  expect: {fatl: x}\ncases: [{name: a}]", []string{"s.yaml:3: case: there is no such field: is it cases?", "s.yaml:5: defaults.compositon: there is no such field: is it composition?", "s.yaml:6: defaults.expect.fatl: there is no such field: is it fatal?"}},
		"Default":    {"defaults cannot have a name", head + "defaults: {name: x}\ncases: [{name: a}]", []string{"s.yaml:3: defaults.name: only a case can have this field"}},
		"TooMany":    {"the number of cases is limited", head + "cases: [{name: a, each: [" + strings.Repeat("1,", spec.MaxCases+1) + "]}]", []string{"s.yaml:3: the suite has more than 100000 cases"}},
		"NotEndless": {"excessive aliasing is an error", head + "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\ncases: [{name: a}]", []string{"s.yaml:1: document contains excessive aliasing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Parse(document(tc.text))
			e2e.Equal(t, tc.reason, strings.Join(tc.want, "\n"), fmt.Sprint(err))
		})
	}
}

// TestCaseErrors checks that errors of a case do not affect other cases.
func TestCaseErrors(t *testing.T) {
	cases := map[string]struct{ reason, text, name, want string }{
		"Scalar":      {"a case must be an object", "- 3", "case 2", "s.yaml:6: expected an object, got a number"},
		"NameNoText":  {"a name that YAML reads as a boolean is an error", "- {name: y}", "case 2", "s.yaml:6: name: expected text, got a boolean"},
		"NameNull":    {"a name that YAML reads as null is an error", "- {name: null}", "case 2", "s.yaml:6: name: expected text, got nothing"},
		"NoName":      {"a case must have a name", "- {skip: x}", "case 2", "s.yaml:6: the case has no name"},
		"SameName":    {"a name must be unique", "- name: good", "good", `s.yaml:6: the name "good" is already used by the case on line 5`},
		"Unknown":     {"unknown fields are errors", "- name: a\n  exect: {}\n  timeout: soon", "a", "s.yaml:7: exect: there is no such field: is it expect?\ns.yaml:8: timeout: expected a time such as 30s or 2m"},
		"Deep":        {"unknown fields are errors at any depth", "- name: a\n  expect:\n    resources:\n      bolt:\n        spec.size: {equal: 3}\n    ready: {resorces: [a]}", "a", "s.yaml:11: expect.ready.resorces: there is no such field: is it resources?\ns.yaml:10: expect.resources.bolt.spec.size.equal: there is no such field: is it equals?"},
		"Nested":      {"a field of a resource is not an object of fields", "- name: a\n  expect:\n    resources:\n      bolt:\n        spec: {size: 3}", "a", "s.yaml:10: expect.resources.bolt.spec.size: there is no such field, only equals, matches, exists, absent, in, length, cel: a field is named by its whole path in one key, such as spec.forProvider.region"},
		"Fatal":       {"a fatal result has its own field", "- name: a\n  expect:\n    results: {severity: Fatal}", "a", `s.yaml:8: expect.results.severity: expected Normal or Warning, got "Fatal": a fatal result is expected by fatal`},
		"Misspelled":  {"a misspelled each is the error of its case", "- name: a\n  ech: [{x: b}]\n  xrd: ${each.x}", "a", "s.yaml:7: ech: there is no such field: is it each?"},
		"NoTable":     {"a variable is an error in a case without a table", "- name: a\n  xrd: ${each.x}", "a", "s.yaml:7: ${each.x} is used in a case without a table (each)"},
		"EmptyTable":  {"a table must have rows", "- name: a\n  each: []", "a", "s.yaml:7: each: the table has no rows"},
		"TableObject": {"a table must be a list", "- name: a\n  each: {}", "a", "s.yaml:7: each: expected a list, got an object"},
		"Variable":    {"a variable must be a key of the row", "- name: a\n  each: [{size: 1}]\n  xrd: x-${each.sise}.yaml", "a/1", "s.yaml:8: ${each.sise}: the row in each has no key sise, did you mean size?"},
		"NoObject":    {"a row must be an object if a variable has a key", "- name: a\n  each: [3]\n  xrd: ${each.size}", "a/1", "s.yaml:8: ${each.size}: the row of the table is not an object"},
		"Name":        {"a variable in a name must be a key of the row", "- name: a ${each.q}\n  each: [{size: 1}]", "a ${each.q}/1", "s.yaml:6: name: ${each.q}: the row in each has no key q, only size"},
		"Default":     {"an error that a row causes in the defaults has the line of the defaults", "- name: a\n  each: [{size: x}]", "a/1", "s.yaml:3: expect.passes: expected a whole number, got a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defaults := "defaults: {}"
			if name == "Default" {
				defaults = "defaults: {expect: {passes: '${each.size}'}}"
			}
			s := parse(t, defaults+"\ncases:\n- {name: good, expect: {passes: 1}}\n"+tc.text+"\n")
			e2e.NoError(t, e2e.Err(s.Cases[0].Spec()))
			c := s.Cases[1]
			if _, err := c.Spec(); c.Name != tc.name || fmt.Sprint(err) != tc.want {
				t.Errorf("%s: got case %q with\n%v\nwant\n%s", tc.reason, c.Name, err, tc.want)
			}
		})
	}
}

// TestForm decodes every field.
func TestForm(t *testing.T) {
	s := parse(t, `metadata: {name: bolts, labels: {a: b}}
defaults:
  composition: c.yaml
  context: {a: 1, b: {c: 2, d: 3}}
  observed: [x.yaml, y.yaml]
  expect:
    count: {total: 1}
    xr: {spec.size: 3, spec.old: {absent: true}}
cases:
- name: a
  timeout: 30s
  xr: {patch: {spec: {x: null}}}
  functions: {kind: Function}
  observed: z.yaml
  context: {b: {c: null, e: 4}}
  mocks: {s: {response: {}}}
  expect:
    count: {Bolt: 2}
    xr: {spec.size: {in: [1, null]}, spec.none: null, spec.old: null}
    conditions: {Ready: True, Other: {status: "False", reason: why}}
    ready: true
    golden: g.yaml
    cel: a == b
    only: []
    resources: {bolt: {}, nut: absent}
    results: {severity: Warning, message: {matches: x}}
- name: fatal
  expect: {fatal: boom}
`)
	f, err := s.Cases[0].Spec()
	if err != nil || s.Name != "bolts" {
		t.Fatal(err, s.Name)
	}
	type value = map[string]any
	text := func(s string) *spec.Text { return &spec.Text{Matches: &s} }
	why, yes := "why", true
	for name, pair := range map[string][2]any{
		"timeout":     {30 * time.Second, f.Timeout.Duration},
		"composition": {spec.Source{File: "c.yaml"}, f.Composition},
		"xr":          {spec.XR{Patch: value{"spec": value{"x": nil}}}, f.XR},
		"functions":   {[]spec.Source{{Object: value{"kind": "Function"}}}, f.Functions},
		"observed":    {[]spec.Source{{File: "z.yaml"}}, f.Observed},
		"context":     {value{"a": int64(1), "b": value{"d": int64(3), "e": int64(4)}}, f.Context},
		"mocks":       {map[string]spec.Mock{"s": {Response: value{}}}, f.Mocks},
		"count":       {map[string]int{"total": 1, "Bolt": 2}, f.Expect.Count},
		"conditions":  {map[string]spec.Condition{"Ready": {Status: "True"}, "Other": {Status: "False", Reason: &spec.Text{Contains: &why}}}, f.Expect.Conditions},
		"ready":       {spec.Ready{XR: &yes}, f.Expect.Ready},
		"golden":      {spec.Golden{File: "g.yaml"}, f.Expect.Golden},
		"cel":         {[]string{"a == b"}, f.Expect.CEL},
		"only":        {[]string{}, f.Expect.Only},
		"resources":   {map[string]spec.Resource{"bolt": {Fields: map[string]spec.Matcher{}}, "nut": {State: "absent"}}, f.Expect.Resources},
		"results":     {[]spec.Result{{Severity: "Warning", Message: text("x")}}, f.Expect.Results},
	} {
		e2e.Equal(t, "the expectation "+name+" is parsed", pair[0], pair[1])
	}
	xr := f.Expect.XR
	if _, ok := xr["spec.old"]; ok || len(xr["spec.size"].In) != 2 || xr["spec.none"].Value == nil || xr["spec.none"].Value.Any != nil {
		t.Errorf("fields: got %+v", xr)
	}
	fatal, err := s.Cases[1].Spec()
	if err != nil || fatal.Expect.Fatal == nil || fatal.Expect.Count != nil {
		t.Errorf("a case that expects a fatal result ignores the defaults' expectations: got %+v, %v", fatal.Expect, err)
	}
}

// TestTable replaces variables in strings, keys and whole values, which keep their types.
func TestTable(t *testing.T) {
	s := parse(t, `defaults:
  xr: {file: "${each.file}.yaml", patch: {spec: {size: "${each.size}"}}}
cases:
- name: size ${each.size}
  each:
  - {size: 1, file: one, list: [a, b]}
  - {size: two, file: other, list: []}
  context: {"${each.file}": "${each.list}", text: "$${each.size} is ${each.size}, ${each.list}", other: "${size}", almost: "${eachsize} ${each.size{} ${each.", part: "${each ${each.size}"}
  expect:
    resources:
      "bolt-${each.size}":
        spec.size: "${each.size}"
- name: rows
  each: [x, 2]
  xr: x.yaml
  xrd: ${each}.yaml
`)
	var names []string
	for _, c := range s.Cases {
		names = append(names, c.Name)
	}
	e2e.Equal(t, "each row has the name of its case", []string{"size 1", "size two", "rows/1", "rows/2"}, names)
	f := e2e.Must(s.Cases[0].Spec())(t)
	want := map[string]any{"one": []any{"a", "b"}, "text": `${each.size} is 1, ["a","b"]`, "other": "${size}", "almost": "${eachsize} ${each.size{} ${each.", "part": "${each 1"}
	e2e.Equal(t, "variables are replaced in keys and texts, and a whole value keeps its type", want, f.Context)
	e2e.Equal(t, "the value of a whole variable must keep its type", int64(1), f.Expect.Resources["bolt-1"].Fields["spec.size"].Value.Any)
	e2e.Equal(t, "the line below a key with a variable", 14, s.Cases[0].Position("expect", "resources", "bolt-1", "spec.size"))
	xr, ok, err := s.Cases[1].DefaultXR()
	if err != nil || !ok || xr.File != "other.yaml" || cmp.Diff(map[string]any{"spec": map[string]any{"size": "two"}}, xr.Patch) != "" {
		t.Errorf("got %+v, %v as XR of the defaults", xr, err)
	}
	f = e2e.Must(s.Cases[3].Spec())(t)
	e2e.Equal(t, "a row that is not an object", "2.yaml", f.XRD.File)
}

// TestPosition checks that an inherited field has the line of the defaults.
func TestPosition(t *testing.T) {
	s := parse(t, `defaults:
  xrd: x.yaml
  expect:
    count: {total: 1}
cases:
- name: a
  expect:
    xr:
      spec.size: 3
      metadata.labels[a.b/c]: d
    results:
    - {severity: Normal}
    - {severity: Warning}
- name: b
  each: [{v: []}]
  expect:
    count: ${each.v}
    only: a
`)
	if replaced := s.Cases[1]; replaced.Position("expect", "count", "total") != 19 || replaced.IsLiteral("expect", "count") || !replaced.IsLiteral("expect", "only", "[0]") || replaced.Own("expect", "only") == nil || replaced.Own("expect", "count") != nil {
		t.Error("a field that replaces a field of the defaults is not found")
	}
	c := s.Cases[0]
	for want, path := range map[int][]string{
		4:  {"xrd"},
		6:  {"expect", "count", "total"},
		8:  {"name"},
		9:  {"expect"},
		11: {"expect", "xr", "spec.size", "equals"},
		12: {"expect", "xr", "metadata.labels[a.b/c]"},
		15: {"expect", "results", "[1]", "message"},
	} {
		e2e.Equal(t, strings.Join(path, "."), want, c.Position(path...))
	}
	e2e.Equal(t, "a case has its own line", 8, c.Line())
}

// FuzzParse checks that decoding the cases of a parsed suite does not panic.
func FuzzParse(f *testing.F) {
	f.Add(head + "defaults: {each: [1]}\ncases: [{name: '${each}', xr: x, expect: {xr: {a: 1}}}]")
	f.Add(head + "cases: [{name: a, each: [{b: 1}], expect: {resources: {'${each.b}': {x: {in: [1]}}}}}]")
	f.Add(head + "cases: [3, {name: b, expect: {golden: {resources: {a: b}}, conditions: {Ready: true}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "\n") > 1000 {
			t.Skip()
		}
		s, err := spec.Parse(document(text))
		if err != nil {
			return
		}
		for i, c := range s.Cases[:min(len(s.Cases), 100)] {
			if _, err := c.Spec(); err != nil && !strings.Contains(err.Error(), "s.yaml:") {
				t.Errorf("case %d: the error has no line: %v", i, err)
			}
			_, _, _ = c.DefaultXR()
			if c.Line() < 1 {
				t.Errorf("case %d: line %d", i, c.Line())
			}
		}
	})
}
