package suite

import (
	"cmp"

	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

// A JSONReport is the JSON report of a run.
type JSONReport struct {
	Tally
	Cases []Outcome `json:"cases"`
	// Coverage is nil if it was not collected.
	Coverage *coverage.Report `json:"coverage,omitempty"`
}

// Add adds an outcome.
func (d *JSONReport) Add(o Outcome) {
	d.Tally.Add(o)
	d.Cases = append(d.Cases, o)
}

// JUnitReport collects outcomes as JUnit suites, one for each test suite.
type JUnitReport struct {
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
	c := report.JUnitCase{Name: cmp.Or(o.Case, o.Path), Class: o.Suite, Seconds: o.Took.Seconds(), Skipped: o.Reason}
	if o.Status == Failed {
		text, err := FailureText(o)
		if err != nil {
			return err
		}
		c.Failure = &report.JUnitFailure{Message: o.Failures[0].Text, Text: text}
	}
	s.Seconds += c.Seconds
	s.Cases = append(s.Cases, c)
	return nil
}

// Suites returns the suites of the outcomes that were added.
func (j *JUnitReport) Suites() []report.JUnitSuite { return j.suites }
