package check_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

func form(t *testing.T, expect string) spec.CaseSpec {
	t.Helper()
	s := e2e.Must(spec.Parse(manifest.Document{Path: "s.yaml", Line: 1, Text: []byte("apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\ncases:\n- name: a\n  expect: " + expect)}))(t)
	return e2e.Must(s.Cases[0].Spec())(t)
}

func composed(t *testing.T, name, kind, rest string) map[string]any {
	return e2e.Object(t, fmt.Sprintf("{apiVersion: parts.gold.test/v1, kind: %s, metadata: {name: alpha-%s, annotations: {crossplane.io/composition-resource-name: %s}}, %s}", kind, name, name, rest))
}

func subject(t *testing.T) *check.Subject {
	xr := e2e.Object(t, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, labels: {example.org/team: a}}, spec: {size: 3}, status: {
		url: "https://x", conditions: [{type: Ready, status: "False", reason: Creating, message: "Unready resources: nut"}, {type: Synced, status: "True"}]}}`)
	return &check.Subject{
		Document: xr, XR: xr,
		Composed: []map[string]any{
			composed(t, "bolt", "Bolt", "spec: {turns: 4.0, tags: [a, b], owner: {name: x}, none: null, ports: [{p: 1}, {p: 2}]}"),
			composed(t, "nut", "Nut", "spec: {size: 2.5}"),
			composed(t, "rivet", "Bolt", "spec: {}"),
		},
		Ready:   map[string]bool{"bolt": true, "rivet": true},
		Results: []check.Reported{{Step: "make", Result: report.Result{Severity: "Warning", Message: "size 3 is small", Reason: "Small"}}, {Step: "ready", Result: report.Result{Severity: "Normal", Message: "done"}}},
		Context: map[string]any{"example.org/env": map[string]any{"zone": "b"}}, Connection: map[string]any{"user": "ada"},
		Passes: 3, Settled: true,
		Trace: func() report.Trace {
			return report.Trace{Steps: []report.Step{
				{Name: "make", Changes: []report.ResourceChange{
					{Name: "bolt", Fields: []report.Change{{Path: "kind", Op: report.Added}, {Path: "spec.turns", Op: report.Added}, {Path: "spec.owner.name", Op: report.Added}}},
					{Fields: []report.Change{{Path: "status.url", Op: report.Added}}},
					{Name: "nut", Fields: []report.Change{{Path: "spec.size", Op: report.Added}}},
				}},
				{Name: "tune", Changes: []report.ResourceChange{{Name: "bolt", Fields: []report.Change{{Path: "spec.turns", Op: report.Changed}}}}},
			}}
		},
	}
}

// TestCheck has met and unmet expectations of each kind.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		reason, expect string
		want           []string
	}{
		"Nothing": {"a case without expectations passes", "{}", nil},
		"Fields": {
			"expectations of fields can be met",
			`{xr: {spec.size: 3, "metadata.labels[example.org/team]": a, status.url: {matches: ^https, length: 9, exists: true, in: [x, "https://x"]}},
			  resources: {bolt: {spec.tags: [a, b], spec.owner: {equals: {name: x}}, 'spec.tags[1]': b, spec.none: null, spec.gone: {absent: true}, spec.away: {exists: false}, spec.turns: {cel: "self + 1 == 5 && self > xr.spec.size"}, "spec.ports[*].p": {in: [1, 2]}, "spec.ports": {length: 2}}, nut: {spec.size: {equals: 2.5, matches: "^2"}}, Nut: {}, Bolt/alpha-bolt: {}, screw: absent, rivet: present},
			  context: {"[example.org/env].zone": b}, connectionDetails: {user: ada}}`,
			nil,
		},
		"Equals":       {"a failure shows the wanted and the actual value", "{xr: {spec.size: 4}}", []string{"expect.xr.spec.size: composite resource: spec.size: want 4, got 3"}},
		"Blame":        {"a failure names the step that set the field last", "{resources: {bolt: {spec.turns: 5}}}", []string{"expect.resources.bolt.spec.turns: bolt: spec.turns: want 5, got 4 (set by step tune)"}},
		"BlameBelow":   {"a failure names the step that set a field below", "{resources: {bolt: {spec.owner: {length: 2}}}}", []string{`expect.resources.bolt.spec.owner: bolt: spec.owner: want a length of 2, got 1: {"name":"x"} (set by step make)`}},
		"BlameStatus":  {"a failure names the step that set a field of the composite resource", "{xr: {status.url: x}}", []string{`expect.xr.status.url: composite resource: status.url: want "x", got "https://x" (set by step make)`}},
		"Object":       {"objects are compared by field", "{resources: {bolt: {spec.owner: {equals: {name: z, age: 1}}}}}", []string{`expect.resources.bolt.spec.owner: bolt: spec.owner: it differs: age 1 is missing, name: want "z", got "x" (set by step make)`}},
		"List":         {"lists are compared by element", "{resources: {bolt: {spec.tags: [a, c, d]}}}", []string{`expect.resources.bolt.spec.tags: bolt: spec.tags: it differs: [1]: want "c", got "b", [2] "d" is missing`}},
		"Unlike":       {"values of different types are shown", "{resources: {bolt: {spec.tags: a}}}", []string{`expect.resources.bolt.spec.tags: bolt: spec.tags: want "a", got ["a","b"]`}},
		"NullWanted":   {"null differs from other values", "{xr: {spec.size: null}}", []string{"expect.xr.spec.size: composite resource: spec.size: want null, got 3"}},
		"NullGot":      {"a field that is null is not missing", "{resources: {bolt: {spec.none: 1}}}", []string{"expect.resources.bolt.spec.none: bolt: spec.none: want 1, got null"}},
		"In":           {"in lists the allowed values", "{xr: {spec.size: {in: [1, a]}}}", []string{`expect.xr.spec.size: composite resource: spec.size: want one of [1,"a"], got 3`}},
		"Matches":      {"matches is a regular expression on a string", "{xr: {status.url: {matches: ^http:}}}", []string{`expect.xr.status.url: composite resource: status.url: want a match of ^http:, got "https://x" (set by step make)`}},
		"MatchesList":  {"a list is not a string", "{resources: {bolt: {spec.tags: {matches: a}}}}", []string{`expect.resources.bolt.spec.tags: bolt: spec.tags: want a text that matches a, got ["a","b"]`}},
		"BadPattern":   {"an invalid regular expression is an error", "{xr: {status.url: {matches: '('}}}", []string{"expect.xr.status.url: composite resource: status.url: invalid regular expression: error parsing regexp: missing closing ): `(`"}},
		"Length":       {"length counts characters, elements or keys", "{xr: {status.url: {length: 3}, spec.size: {length: 1}}}", []string{"expect.xr.spec.size: composite resource: spec.size: want a length of 1, but 3 has none", `expect.xr.status.url: composite resource: status.url: want a length of 3, got 9: "https://x" (set by step make)`}},
		"Absent":       {"absent fails for a field that exists", "{xr: {spec.size: {absent: true}}}", []string{"expect.xr.spec.size: composite resource: spec.size: want no such field, got 3"}},
		"ExistsNot":    {"absent and exists: false are the same", "{xr: {spec.size: {exists: false}}}", []string{"expect.xr.spec.size: composite resource: spec.size: want no such field, got 3"}},
		"Missing":      {"a missing field is reported with the fields that exist", "{resources: {bolt: {spec.trns: 4}}}", []string{"expect.resources.bolt.spec.trns: bolt: spec.trns: there is no such field: spec has none, owner, ports, tags, turns: is it turns?"}},
		"MissingTop":   {"a top-level field can be missing", "{xr: {sepc.size: {exists: true}}}", []string{"expect.xr.sepc.size: composite resource: sepc.size: there is no such field: composite resource has apiVersion, kind, metadata, spec, status: is it spec?"}},
		"MissingIndex": {"a list element can be missing", "{resources: {bolt: {'spec.tags[7]': x}}}", []string{"expect.resources.bolt.spec.tags[7]: bolt: spec.tags[7]: there is no such field: spec.tags has 2 elements"}},
		"MissingDeep":  {"a scalar has no fields", "{xr: {spec.size.x: {absent: false}}}", []string{"expect.xr.spec.size.x: composite resource: spec.size.x: there is no such field: spec.size is 3"}},
		"MissingDots":  {"a key with dots is in brackets", "{context: {example.org/env.zone: c}}", []string{"expect.context.example.org/env.zone: context: example.org/env.zone: there is no such field: a key with a dot is in brackets, as in context[example.org/env]"}},
		"MissingEmpty": {"an empty object has no fields", "{resources: {rivet: {spec.x: 1}}}", []string{"expect.resources.rivet.spec.x: rivet: spec.x: there is no such field: spec is empty"}},
		"BadPath":      {"an invalid path is an error", "{xr: {'spec[': 1}}", []string{`expect.xr.spec[: composite resource: spec[: invalid field path: cannot parse path "spec[": unterminated '[' at position 4`}},
		"Each":         {"a wildcard matches all elements", "{resources: {bolt: {'spec.ports[*].p': 1}}}", []string{"expect.resources.bolt.spec.ports[*].p: bolt: spec.ports[1].p: want 1, got 2"}},
		"EachNone":     {"a wildcard must match at least one element", "{resources: {bolt: {'spec.prts[*].p': 1}}}", []string{"expect.resources.bolt.spec.prts[*].p: bolt: spec.prts[*].p: there is no such field: spec has none, owner, ports, tags, turns: is it ports?"}},
		"CEL":          {"a CEL expression can be false", "{resources: {bolt: {spec.turns: {cel: self > 9}}}, cel: xr.spec.size == 4}", []string{"expect.resources.bolt.spec.turns: bolt: spec.turns: CEL self > 9 is false for 4 (set by step tune)", "expect.cel[0]: CEL xr.spec.size == 4 is false"}},
		"CELError":     {"a CEL expression can fail or not compile", "{cel: [\"size(resources) == 3 && results.exists(r, r.step == 'ready')\", xr.spec.nope == 1, xr..]}", []string{"expect.cel[1]: CEL xr.spec.nope == 1: no such key: nope", "expect.cel[2]: CEL xr..: the expression does not compile: Syntax error: no viable alternative at input '..' at column 4"}},
		"Resource":     {"a missing resource is reported", "{resources: {blot: {}, anything: present, Bolt: {}}}", []string{"expect.resources.Bolt: there are 2 resources of kind Bolt: name one of bolt, rivet", `expect.resources.anything: there is no resource "anything", only bolt, nut, rivet`, `expect.resources.blot: there is no resource "blot": is it "bolt"?`}},
		"AbsentThere":  {"a resource that must be absent is reported", "{resources: {nut: absent, Bolt: absent}}", []string{"expect.resources.Bolt: Bolt: this resource exists", "expect.resources.nut: nut: this resource exists (set by step make)"}},
		"Only":         {"only reports resources that are not listed", "{only: [bolt, Nut, rivets]}", []string{`expect.only[2]: there is no resource "rivets": is it "rivet"?`, "expect.only: rivet: this resource (Bolt/alpha-rivet) is unexpected"}},
		"OnlyNone":     {"an empty only reports every resource", "{only: []}", []string{"expect.only: bolt: this resource (Bolt/alpha-bolt) is unexpected (set by step make)", "expect.only: nut: this resource (Nut/alpha-nut) is unexpected (set by step make)", "expect.only: rivet: this resource (Bolt/alpha-rivet) is unexpected"}},
		"Count":        {"count compares numbers of resources", "{count: {total: 3, Bolt: 2, parts.gold.test/v1/Nut: 1, Screw: 0}}", nil},
		"CountOther":   {"a wrong number of resources is reported", "{count: {total: 1, Nut: 2}}", []string{"expect.count.Nut: want 2 resources of kind Nut, got 1: there are bolt (Bolt), nut (Nut), rivet (Bolt)", "expect.count.total: want 1 resource in total, got 3: there are bolt (Bolt), nut (Nut), rivet (Bolt)"}},
		"Results":      {"results can be matched", "{results: [{severity: Warning, message: is small, step: make, reason: {equals: Small}}, {message: {matches: '^do'}}, {severity: Warning, step: ready, absent: true}]}", nil},
		"ResultsOther": {"a missing result is reported", "{results: [{severity: Warning, message: big}, {message: done, absent: true}, {message: {matches: '('}}]}", []string{`expect.results[0]: there is no result of severity Warning, with a message that contains "big"; there are: Warning of step make: "size 3 is small"; Normal of step ready: "done"`, `expect.results[1]: want no result with a message that contains "done", got Normal of step ready: "done"`, "expect.results[2]: invalid regular expression \"(\": error parsing regexp: missing closing ): `(`"}},
		"Conditions":   {"expectations of conditions can be met", "{conditions: {Ready: {status: False, reason: Creating, message: {contains: nut}}, Synced: True}}", nil},
		"ConditionsNo": {"conditions that differ are reported", "{conditions: {Ready: True, Redy: True, Synced: {reason: x, message: {matches: '('}}}}", []string{"expect.conditions.Ready: condition Ready: want status True, got False (Creating: Unready resources: nut)", "expect.conditions.Redy: condition Redy does not exist: the composite resource has Ready, Synced: is it Ready?", `expect.conditions.Synced: condition Synced: want a reason that contains "x", got ""`, "expect.conditions.Synced: condition Synced: invalid regular expression \"(\": error parsing regexp: missing closing ): `(`"}},
		"Ready":        {"expectations of readiness can be met", "{ready: {xr: false, resources: [bolt, rivet], unready: nut}}", nil},
		"ReadyNot":     {"readiness that differs is reported", "{ready: {xr: true, after: 3, resources: [nut, x], unready: bolt}}", []string{"expect.ready: the composite resource is not ready (Creating: Unready resources: nut); resources that are not ready: nut", "expect.ready: the composite resource is not ready after 3 passes (Creating: Unready resources: nut); resources that are not ready: nut", "expect.ready.resources[0]: nut: functions do not report this resource as ready", `expect.ready.resources[1]: there is no resource "x", only bolt, nut, rivet`, "expect.ready.unready[0]: bolt: functions report this resource as ready"}},
		"Passes":       {"an expected number of passes can be met", "{passes: 3}", nil},
		"PassesMore":   {"more passes than expected are reported", "{passes: 2}", []string{"expect.passes: want no changes after 2 passes, but 3 were needed"}},
		"Context":      {"context and connection details are compared", "{context: {'[example.org/env].zone': c}, connectionDetails: {usr: x}}", []string{`expect.context[example.org/env].zone: context: [example.org/env].zone: want "c", got "b"`, "expect.connectionDetails.usr: connection details: usr: there is no such field: connection details has user: is it user?"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := check.Checker{Expressions: &check.Env{}}
			var got []string
			for _, f := range c.Check(t.Context(), form(t, tc.expect), subject(t)) {
				got = append(got, manifest.JoinPath(f.Path)+": "+f.Text)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

type files struct {
	docs   map[string][]map[string]any
	update bool
}

func (f files) Read(_ context.Context, path string) ([]map[string]any, error) {
	docs, ok := f.docs[path]
	switch {
	case path == "broken":
		return nil, errors.New("broken:1: did not find expected node content")
	case !ok:
		return nil, fs.ErrNotExist
	}
	return docs, nil
}

func (f files) Text(ctx context.Context, path string) ([]byte, error) {
	docs, err := f.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = manifest.Write(&b, docs...)
	return b.Bytes(), err
}

func (f files) Update(path string, docs []map[string]any) (bool, error) {
	if f.update {
		f.docs[path] = docs
	}
	return f.update, nil
}

// TestGolden compares with golden files of all and of single resources, and updates them.
func TestGolden(t *testing.T) {
	const expect = "{golden: {file: all, xr: xr, resources: {bolt: bolt, nuts: nut, nut: broken}}}"
	f := files{docs: map[string][]map[string]any{}}
	s := subject(t)
	f.docs["all"] = append([]map[string]any{s.Document}, s.Composed...)
	f.docs["xr"] = []map[string]any{e2e.Object(t, "{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, status: {url: y}}")}
	c := check.Checker{Expressions: &check.Env{}, Goldens: f}
	got := c.Check(t.Context(), form(t, expect), subject(t))
	var texts []string
	for _, failure := range got {
		texts = append(texts, failure.Text+" | "+failure.Hint.Spell(nil))
	}
	want := []string{
		"the output differs from xr | if the new output is correct, write it with option update",
		"there is no golden file bolt yet | write it with option update",
		"broken:1: did not find expected node content | replace it with option update",
		`there is no resource "nuts": is it "nut"? | `,
	}
	e2e.Equal(t, "each difference has a text and a hint", want, texts)
	steps := map[string]string{}
	for _, change := range got[0].Diffs[0].Changes {
		steps[change.Path] = change.Step
	}
	if steps["status.url"] != "make" || steps["metadata.labels[example.org/team]"] != "" {
		t.Errorf("got steps %v of the differences", steps)
	}
	f.update = true
	c.Goldens = f
	for range 2 { // The failure about the missing resource remains.
		if got = c.Check(t.Context(), form(t, expect), subject(t)); len(got) != 1 || got[0].Text+" | " != want[3] {
			t.Errorf("got %v after an update", got)
		}
	}
	if len(f.docs["bolt"]) != 1 || f.docs["bolt"][0]["kind"] != "Bolt" {
		t.Errorf("got %v in the file of one resource", f.docs["bolt"])
	}
}

func texts(all []check.Failure) (out []string) {
	for _, f := range all {
		out = append(out, f.Text)
	}
	return out
}

// TestValid reports violations of a schema with the object and the step.
func TestValid(t *testing.T) {
	c := check.Checker{Validate: func(_ context.Context, _ []spec.Source, objects []map[string]any, ignore []string) ([]check.Fault, error) {
		if len(ignore) > 0 {
			return nil, fmt.Errorf("ignored %v of %d", ignore, len(objects))
		}
		return []check.Fault{{1, "spec.turns", "spec.turns: must be a string", false}, {0, "", "is odd", false}, {check.OfComposition, "spec", "Composition at c.yaml:3: spec: is old", false}}, nil
	}}
	for expect, want := range map[string][]string{
		"{valid: true}":                        {"bolt: spec.turns: must be a string (set by step tune)", "composite resource: is odd", "Composition at c.yaml:3: spec: is old"},
		"{valid: false}":                       nil,
		"{valid: {ignore: Bolt}}":              nil,
		"{valid: {all: true, ignore: [Bolt]}}": {"ignored [Bolt] of 4"},
	} {
		e2e.Equal(t, "only these failures are reported for "+expect, want, texts(c.Check(t.Context(), form(t, expect), subject(t))))
	}
	c.Validate = func(context.Context, []spec.Source, []map[string]any, []string) ([]check.Fault, error) {
		return []check.Fault{{check.OfComposition, "", "Composition at c.yaml:3: is old", false}}, nil
	}
	e2e.Equal(t, "faults of the Composition are ignored, so valid: false fails", 1, len(c.Check(t.Context(), form(t, "{valid: false}"), subject(t))))
}

// TestNothingComposed reports that there are no resources, results or readiness.
func TestNothingComposed(t *testing.T) {
	c := check.Checker{Expressions: &check.Env{}}
	got := c.Check(t.Context(), form(t, "{resources: {a: {}}, count: {total: 1}, results: [{step: x}], ready: true, cel: size(resources) == 0, passes: 1}"), &check.Subject{XR: map[string]any{}, Passes: 4})
	want := []string{
		`there is no resource "a": nothing is composed`, "want 1 resource in total, got 0: nothing is composed",
		"there is no result of step x: functions returned no results", "the composite resource is not ready", "after 4 passes, resources still change",
	}
	e2e.Equal(t, "each expectation fails without resources", want, texts(got))
}

// TestReadyLate reports readiness that comes too late, even if the last pass is ready.
func TestReadyLate(t *testing.T) {
	c := check.Checker{Expressions: &check.Env{}}
	s := func() *check.Subject {
		return &check.Subject{XR: e2e.Object(t, "{status: {conditions: [{type: Ready, status: 'True'}]}}"), Passes: 5, ReadySince: 3}
	}
	for expect, want := range map[string][]string{
		"{ready: {after: 3}}":            nil,
		"{ready: {after: 4}}":            nil,
		"{ready: {after: 2}}":            {"the composite resource is ready after 3 passes, want 2"},
		"{ready: {after: 2, xr: false}}": {"the composite resource is ready"},
	} {
		e2e.Equal(t, "only these failures are reported for "+expect, want, texts(c.Check(t.Context(), form(t, expect), s())))
	}
}

// TestBlameWithin names the step that set the part of an object that differs.
func TestBlameWithin(t *testing.T) {
	c := check.Checker{Expressions: &check.Env{}}
	for expect, want := range map[string]string{
		"{resources: {bolt: {spec: {equals: {turns: 9, tags: [a, b], owner: {name: x}, none: null, ports: [{p: 1}, {p: 2}]}}}}}": "tune",
		"{resources: {bolt: {spec: {equals: {turns: 4, tags: [a, b], owner: {name: y}, none: null, ports: [{p: 1}, {p: 2}]}}}}}": "make",
	} {
		got := c.Check(t.Context(), form(t, expect), subject(t))
		if len(got) != 1 || got[0].Step != want {
			t.Errorf("%s: got %v, want the step %s", expect, got, want)
		}
	}
}
