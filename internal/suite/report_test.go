package suite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

// formattedOutcomes returns outcomes of each status, with control characters in their texts.
func formattedOutcomes() []suite.Outcome {
	return []suite.Outcome{
		{Suite: "one", Case: "good", Path: "one.yaml", Line: 4, Status: suite.Passed, Took: suite.Seconds{Duration: 1500 * time.Millisecond}, Updated: []string{"g.yaml"}},
		{Suite: "one", Case: "bad", Path: "one.yaml", Line: 9, Status: suite.Failed, Took: suite.Seconds{Duration: 20 * time.Millisecond}, Failures: []suite.Failure{
			{Path: "one.yaml", Line: 12, Failure: check.Failure{Text: "bolt: spec.size: want 1, got 2 and so many more words that they do not fit into one line", Resource: "bolt", Field: "spec.size", Step: "make"}},
			{Path: "one.yaml", Line: 13, Failure: check.Failure{Text: "two\n::error::lines\x1b[31m", Hint: "look"}},
			{Path: "one.yaml", Line: 14, Failure: check.Failure{Text: "it differs", Hint: "look", Diffs: []report.DocDiff{
				{Kind: "Bolt", Name: "a", Op: report.Changed, Changes: []report.Change{{Path: "spec.size", Op: report.Changed, Old: 1, New: 2, Step: "make"}}},
				{Kind: "Nut", Name: "b", Op: report.Removed},
			}}},
		}},
		{Suite: "one", Case: "odd", Path: "one.yaml", Line: 20, Status: suite.Skipped, Reason: "later"},
		{Suite: "two", Path: "two.yaml", Status: suite.Failed, Failures: []suite.Failure{{Path: "two.yaml", Failure: check.Failure{Text: "broken"}}}},
		{Suite: "three", Case: "x", Path: "three.yaml", Line: 1, Status: suite.Passed},
	}
}

const formattedFailures = `one.yaml:12: bolt: spec.size: want 1, got 2 and so many more words that they do not fit into one line
one.yaml:13: two
    : :error::lines\x1b[31m
hint: look
one.yaml:14: it differs
    ~ Bolt a differs
        ~ spec.size: 1 → 2
            set by step make

    - Nut b is missing
`

func indented() string {
	return strings.ReplaceAll("    "+strings.ReplaceAll(strings.TrimSuffix(formattedFailures, "\n"), "\n", "\n    "), "\n    \n", "\n\n") + "\n"
}

func TestTextReport(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   suite.TextReport
		want   string
	}{
		"Plain": {
			"failures and suites are written",
			suite.TextReport{},
			"updated g.yaml\n--- FAIL: one/bad (0.02s)\n" + indented() + "FAIL one (3 cases, 1 failed, 1 skipped, 1.52s)\n" +
				"--- FAIL: two (0.00s)\n    two.yaml: broken\nFAIL two (1 case, 1 failed, 0.00s)\nok   three (1 case, 0.00s)\nFAIL (5 cases, 2 failed, 1 skipped, 2.00s)\n",
		},
		"Terminal": {
			"messages on a terminal are wrapped",
			suite.TextReport{Quiet: true, Columns: 80},
			"updated g.yaml\n--- FAIL: one/bad (0.02s)\n" + strings.Replace(indented(), "words that ", "words that\n        ", 1) + "FAIL one (3 cases, 1 failed, 1 skipped, 1.52s)\n" +
				"--- FAIL: two (0.00s)\n    two.yaml: broken\nFAIL two (1 case, 1 failed, 0.00s)\nFAIL (5 cases, 2 failed, 1 skipped, 2.00s)\n",
		},
		"Quiet": {
			"quiet omits suites that pass",
			suite.TextReport{Quiet: true},
			"updated g.yaml\n--- FAIL: one/bad (0.02s)\n" + indented() + "FAIL one (3 cases, 1 failed, 1 skipped, 1.52s)\n" +
				"--- FAIL: two (0.00s)\n    two.yaml: broken\nFAIL two (1 case, 1 failed, 0.00s)\nFAIL (5 cases, 2 failed, 1 skipped, 2.00s)\n",
		},
		"Verbose": {
			"verbose writes each case",
			suite.TextReport{Verbose: true},
			"--- PASS: one/good (1.50s)\nupdated g.yaml\n--- FAIL: one/bad (0.02s)\n" + indented() + "--- SKIP: one/odd (0.00s)\n    later\nFAIL one (3 cases, 1 failed, 1 skipped, 1.52s)\n" +
				"--- FAIL: two (0.00s)\n    two.yaml: broken\nFAIL two (1 case, 1 failed, 0.00s)\n--- PASS: three/x (0.00s)\nok   three (1 case, 0.00s)\nFAIL (5 cases, 2 failed, 1 skipped, 2.00s)\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			tc.text.W = &b
			for _, o := range formattedOutcomes() {
				e2e.NoError(t, tc.text.Add(o))
			}
			e2e.NoError(t, tc.text.End(2*time.Second))
			e2e.Equal(t, tc.reason, tc.want, b.String())
		})
	}
}

func TestTextReportColor(t *testing.T) {
	var b bytes.Buffer
	text := suite.TextReport{W: &b, Color: true}
	for _, o := range formattedOutcomes()[1:2] {
		e2e.NoError(t, text.Add(o))
	}
	e2e.NoError(t, text.End(0))
	if !strings.HasPrefix(b.String(), "\x1b[31m--- FAIL: one/bad (0.02s)\x1b[0m\n") || strings.Contains(b.String(), "lines\x1b") || !strings.Contains(b.String(), "\x1b[33m~ spec.size: 1 → 2\x1b[0m") {
		t.Errorf("got %q", b.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the pipe is closed") }

func TestReportWriteErrors(t *testing.T) {
	text := suite.TextReport{W: brokenWriter{}, Verbose: true}
	e2e.Error(t, "a failed write of an outcome returns no error", text.Add(formattedOutcomes()[0]))
	e2e.Error(t, "a failed write of the summary returns no error", text.End(0))
}

func TestJUnitReport(t *testing.T) {
	var j suite.JUnitReport
	for _, o := range formattedOutcomes() {
		e2e.NoError(t, j.Add(o))
	}
	want := []report.JUnitSuite{
		{Name: "one", Seconds: 1.52, Cases: []report.JUnitCase{
			{Name: "good", Class: "one", Seconds: 1.5},
			{Name: "bad", Class: "one", Seconds: 0.02, Failure: &report.JUnitFailure{Message: formattedOutcomes()[1].Failures[0].Text, Text: formattedFailures}},
			{Name: "odd", Class: "one", Skipped: "later"},
		}},
		{Name: "two", Cases: []report.JUnitCase{{Name: "two.yaml", Class: "two", Failure: &report.JUnitFailure{Message: "broken", Text: "two.yaml: broken\n"}}}},
		{Name: "three", Cases: []report.JUnitCase{{Name: "x", Class: "three"}}},
	}
	e2e.Equal(t, "each case is in the report of its suite, with failures and reasons", want, j.Suites())
}

func TestJSONReport(t *testing.T) {
	d := suite.JSONReport{}
	for _, o := range formattedOutcomes() {
		d.Add(o)
	}
	if d.Passed != 2 || d.Failed != 2 || d.Skipped != 1 || len(d.Cases) != 5 {
		t.Errorf("got %+v", d)
	}
	got := e2e.Must(json.Marshal(d.Cases[1]))(t)
	want := `{"suite":"one","case":"bad","path":"one.yaml","line":9,"status":"failed","seconds":0.02,"failures":[` +
		`{"path":"one.yaml","line":12,"text":"bolt: spec.size: want 1, got 2 and so many more words that they do not fit into one line","resource":"bolt","field":"spec.size","step":"make"},` +
		`{"path":"one.yaml","line":13,"text":"two\n::error::lines\u001b[31m","hint":"look"},` +
		`{"path":"one.yaml","line":14,"text":"it differs","hint":"look","diffs":[{"kind":"Bolt","name":"a","op":"changed","changes":[{"path":"spec.size","op":"changed","old":1,"new":2,"step":"make"}]},{"kind":"Nut","name":"b","op":"removed","changes":null}]}]}`
	e2e.Equal(t, "a case has its failures with their differences", want, string(got))
}
