package suite

import (
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

// A JSONReport is the JSON report of a run.
type JSONReport struct {
	Passed  int        `json:"passed"`
	Failed  int        `json:"failed"`
	Skipped int        `json:"skipped"`
	Cases   []JSONCase `json:"cases"`
	// Coverage is nil if it was not collected.
	Coverage *coverage.Report `json:"coverage,omitempty"`
	// Spell returns the syntax of the options in hints.
	Spell hint.Speller `json:"-"`
}

// A JSONCase is the outcome of one case.
type JSONCase struct {
	Suite string `json:"suite"`
	// Case is empty for a suite that could not run.
	Case     string        `json:"case,omitempty"`
	Path     string        `json:"path"`
	Line     int           `json:"line,omitempty"`
	Status   Status        `json:"status"`
	Seconds  float64       `json:"seconds"`
	Reason   string        `json:"reason,omitempty"`
	Failures []JSONFailure `json:"failures,omitempty"`
	// Partial lists the kinds that were validated by their structure only.
	Partial []string `json:"partial,omitempty"`
	Updated []string `json:"updated,omitempty"`
}

// A JSONFailure is one reason why a case failed.
type JSONFailure struct {
	Path     string           `json:"path"`
	Line     int              `json:"line,omitempty"`
	Text     string           `json:"text"`
	Hint     string           `json:"hint,omitempty"`
	Resource string           `json:"resource,omitempty"`
	Field    string           `json:"field,omitempty"`
	Step     string           `json:"step,omitempty"`
	Diffs    []report.DocDiff `json:"diffs,omitempty"`
}

// Add adds an outcome.
func (d *JSONReport) Add(o Outcome) {
	switch o.Status {
	case Failed:
		d.Failed++
	case Skipped:
		d.Skipped++
	default:
		d.Passed++
	}
	c := JSONCase{
		Suite: o.Suite, Case: o.Case, Path: o.Path, Line: o.Line, Status: o.Status, Seconds: o.Took.Seconds(),
		Reason: o.Reason, Partial: o.Partial, Updated: o.Updated,
	}
	for _, f := range o.Failures {
		c.Failures = append(c.Failures, JSONFailure{f.Path, f.Line, f.Text, f.Hint.Spell(d.Spell), f.Resource, f.Field, f.Step, f.Diffs})
	}
	d.Cases = append(d.Cases, c)
}

// JUnitReport collects outcomes as JUnit suites, one for each test suite.
type JUnitReport struct {
	// Spell returns the syntax of the options in hints.
	Spell hint.Speller

	suites []report.JUnitSuite
	index  map[string]int
}

// Add adds an outcome.
func (j *JUnitReport) Add(o Outcome) error {
	i, ok := j.index[o.Suite]
	if !ok {
		if j.index == nil {
			j.index = map[string]int{}
		}
		i = len(j.suites)
		j.index[o.Suite] = i
		j.suites = append(j.suites, report.JUnitSuite{Name: o.Suite})
	}
	s := &j.suites[i]
	c := report.JUnitCase{Name: o.Case, Class: o.Suite, Seconds: o.Took.Seconds(), Skipped: o.Reason}
	if c.Name == "" {
		c.Name = o.Path
	}
	if o.Status == Failed {
		var err error
		if c.Failure, err = junitFailure(o, j.Spell); err != nil {
			return err
		}
	}
	s.Seconds += c.Seconds
	s.Cases = append(s.Cases, c)
	return nil
}

// Suites returns the suites of the outcomes that were added.
func (j *JUnitReport) Suites() []report.JUnitSuite { return j.suites }

// junitFailure returns a JUnit failure. Its message is the first failure of the
// case, and its text has all failures.
func junitFailure(o Outcome, spell hint.Speller) (*report.JUnitFailure, error) {
	text, err := FailureText(o, spell)
	message := ""
	if len(o.Failures) > 0 {
		message = o.Failures[0].Text
	}
	return &report.JUnitFailure{Message: message, Text: text}, err
}
