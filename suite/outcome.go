package suite

import (
	"time"

	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/suite/check"
)

// A Status is how a case ended.
type Status string

// What can become of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// An Outcome is what became of an Item.
type Outcome struct {
	// Suite and Case are its names; Case is empty for a suite that could not run.
	Suite, Case string
	// Path and Line are where it stands.
	Path   string
	Line   int
	Status Status
	Took   time.Duration
	// Reason is why it was skipped.
	Reason string
	// Failures are what it failed with.
	Failures []Failure
	// Updated are the golden files that were written.
	Updated []string
	// Trace is what each step did, if the case failed and a trace is wanted.
	Trace *report.Trace
}

// Name returns "suite/case", or the suite's name.
func (o Outcome) Name() string {
	if o.Case == "" {
		return o.Suite
	}
	return o.Suite + "/" + o.Case
}

// A Failure is one thing that is wrong, and where the file says otherwise.
type Failure struct {
	Path string
	Line int
	check.Failure
}
