package dev_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

func doc(name, text string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": name}, "spec": map[string]any{"text": text}}
}

func TestSections(t *testing.T) {
	one := []map[string]any{doc("a", "one")}
	first := &dev.Rendering{Took: 12 * time.Millisecond, Documents: one, First: true, Diff: report.Compare(nil, one)}
	second := &dev.Rendering{Documents: one, Diff: report.Compare(one, []map[string]any{doc("a", "two")})}
	traces := []report.Trace{{Steps: []report.Step{{Name: "make", Results: []report.Result{
		{Severity: "Warning", Message: "mind\nthe \x1b[31mgap"}, {Severity: "Fatal", Message: "no more"},
	}}}}}
	compile := fmt.Errorf("starting function %q: %w", "f", &gobuild.CompileError{
		Dir: "fn", Target: "linux/amd64", Output: "# f\n./main.go:3:2: undefined: x\n\tmain.go:1:1: there\nsub/s.go:4: syntax error\ngo: go.mod:3: bad",
	})
	failed := suite.Outcome{Suite: "s", Case: "c", Status: suite.Failed, Failures: []suite.Failure{{Path: "s.yaml", Line: 3, Failure: check.Failure{Text: "no golden", Hint: "write it with " + hint.Update}}}}
	cases := map[string]struct {
		reason string
		text   dev.Text
		round  dev.Round
		want   string
	}{
		"First": {
			"all new resources are named without fields",
			dev.Text{},
			dev.Round{N: 1, Rendered: first, Starts: []dev.Start{{Function: "f", Compiled: 1234 * time.Millisecond, Took: 50 * time.Millisecond}, {Function: "g", Took: time.Millisecond}}, Notes: []string{"n"}, Warnings: []string{"w"}},
			"round 1: start\nf: built in 1.2 s, started in 50 ms\ng: started in 1 ms\nrendered 1 document in 12 ms\n\nnote: n\nwarning: w\n\n1 document:\n  + Thing a (v1) added",
		},
		"Whole": {
			"fields of new resources are shown on request",
			dev.Text{Whole: true},
			dev.Round{N: 1, Rendered: first},
			"round 1: start\nrendered 1 document in 12 ms\n\n1 document:\n  + Thing a (v1) added\n      + apiVersion: \"v1\"\n      + kind: \"Thing\"\n      + metadata.name: \"a\"\n      + spec.text: \"one\"",
		},
		"Changed": {
			"control characters in file names are escaped",
			dev.Text{},
			dev.Round{N: 2, Plan: dev.Plan{Changed: []string{"a\x1b[2J.go", "in", "in/b.yaml"}}, Rendered: second},
			"round 2: a\\x1b[2J.go, in/b.yaml changed\nrendered 1 document in 0 ms\n\nchanged since the last render:\n  ~ Thing a (v1) changed\n      ~ spec.text: \"one\" → \"two\"",
		},
		"Same": {
			"many changed files are counted",
			dev.Text{},
			dev.Round{N: 3, Plan: dev.Plan{Changed: []string{"a", "b", "c", "d"}}, Rendered: &dev.Rendering{Documents: one}},
			"round 3: a, b and 2 more changed\nrendered 1 document in 0 ms\n\nnothing changed since the last render",
		},
		"NotBuilt": {
			"positions are relative to the working directory, and the last successful render is shown",
			dev.Text{Last: true},
			dev.Round{N: 4, Rendered: &dev.Rendering{Err: compile}, Good: second, GoodN: 2, Tested: &dev.Testing{Missing: []string{"f"}}},
			"round 4: run again\n\nnot built: showing the last good render, of round 2\n  # f\n  fn/main.go:3:2: undefined: x\n      main.go:1:1: there\n  fn/sub/s.go:4: syntax error\n  go: go.mod:3: bad\n\nchanged since the last render:\n  ~ Thing a (v1) changed\n      ~ spec.text: \"one\" → \"two\"\n\nnot tested: function f does not start",
		},
		"TwoMissing": {
			"several functions that do not start are named",
			dev.Text{},
			dev.Round{N: 7, Tested: &dev.Testing{Missing: []string{"f", "g"}}},
			"round 7: run again\n\nnot tested: functions f, g do not start",
		},
		"NeverGood": {
			"an error without an earlier render has a hint",
			dev.Text{Last: true},
			dev.Round{N: 1, Rendered: &dev.Rendering{Err: hint.Wrap(errors.New("no"), "try"), Traces: traces}},
			"round 1: start\n\nnot rendered\n  no\n  hint: try\n\nstep make: warning: mind\n    the \\x1b[31mgap",
		},
		"Fatal": {
			"a fatal result is shown if there is no other error",
			dev.Text{},
			dev.Round{N: 5, Rendered: &dev.Rendering{Documents: one, Traces: traces}},
			"round 5: run again\nrendered 1 document in 0 ms\n\nstep make: warning: mind\n    the \\x1b[31mgap\nstep make: fatal: no more\n\nnothing changed since the last render",
		},
		"Tests": {
			"tests are reported as by xfn test, with keys in place of flags",
			dev.Text{Spell: func(option string) string { return "key " + option[:1] }},
			dev.Round{N: 6, Plan: dev.Plan{Accept: true}, Tested: &dev.Testing{Took: time.Second, Outcomes: []suite.Outcome{failed}}},
			"round 6: accepting goldens\ntested 1 case in 1.0 s, 1 failed\n\n--- FAIL: s/c (0.00s)\n    s.yaml:3: no golden\n    hint: write it with key u\nFAIL s (1 case, 1 failed, 0.00s)\nFAIL (1 case, 1 failed, 1.00s)",
		},
		"NotTested": {
			"missing suites are an error with a hint",
			dev.Text{},
			dev.Round{N: 7, Tested: &dev.Testing{Err: hint.Wrap(errors.New("no suite"), "write one")}},
			"round 7: run again\n\nnot tested\n  no suite\n  hint: write one",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sections := e2e.Must(tc.text.Sections(tc.round))(t)
			got := strings.Join(dev.Fit(sections, 1000, 1000, ""), "\n")
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestSectionsInColor checks that colors do not change the text, and that no word
// is lost if lines are wrapped.
func TestSectionsInColor(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 40))
	r := dev.Round{N: 2, Rendered: &dev.Rendering{Err: errors.New(long)}, Warnings: []string{long}}
	plain := e2e.Must(dev.Text{Columns: 40}.Sections(r))(t)
	colored := e2e.Must(dev.Text{Columns: 40, Color: true}.Sections(r))(t)
	text := strings.Join(slices.Concat(colored...), "\n")
	e2e.Has(t, "an error is red in color", text, "\x1b[31mnot rendered\x1b[0m")
	for _, l := range slices.Concat(plain...) {
		if n := utf8.RuneCountInString(l); n > 40 {
			t.Errorf("got a line of %d columns: %q", n, l)
		}
	}
	e2e.Equal(t, "no word is lost when lines are wrapped", 80, strings.Count(strings.Join(slices.Concat(plain...), " "), "word"))
	e2e.Equal(t, "colors do not remove words", 80, strings.Count(text, "word"))
}

func TestFit(t *testing.T) {
	section := func(name string, n int) dev.Section {
		var s dev.Section
		for i := range n {
			s = append(s, fmt.Sprintf("%s%d", name, i+1))
		}
		return s
	}
	cases := map[string]struct {
		reason        string
		sections      []dev.Section
		rows, columns int
		want          string
	}{
		"Fits":   {"sections that fit are not cut", []dev.Section{section("a", 2), section("b", 3)}, 6, 80, "a1 a2  b1 b2 b3"},
		"Long":   {"the longest section is cut", []dev.Section{section("a", 2), section("b", 20)}, 10, 80, "a1 a2  b1 b2 b3 b4 b5 b6 … 14 more lines: d shows all"},
		"Both":   {"sections of equal length are cut equally", []dev.Section{section("a", 20), section("b", 20)}, 11, 80, "a1 a2 a3 a4 … 16 more lines: d shows all  b1 b2 b3 b4 … 16 more lines: d shows all"},
		"Tiny":   {"a minimum of lines of each section is kept", []dev.Section{section("a", 20), section("b", 5)}, 1, 80, "a1 a2 a3 … 17 more lines: d shows all  b1 b2 b3 … 2 more lines: d shows all"},
		"Wraps":  {"long lines need more rows, colors do not", []dev.Section{{"\x1b[31m" + strings.Repeat("x", 10) + "\x1b[0m", "y", "y", "y", "y", "y"}}, 7, 5, "\x1b[31mxxxxxxxxxx\x1b[0m y y y y y"},
		"Wraps2": {"wrapped lines leave less room", []dev.Section{{strings.Repeat("x", 11), "y", "y", "y", "y", "y"}}, 7, 5, "xxxxxxxxxxx y y … 3 more lines: d shows all"},
		"None":   {"no sections give no lines", nil, 5, 80, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(dev.Fit(tc.sections, tc.rows, tc.columns, "d shows all"), " ")
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
