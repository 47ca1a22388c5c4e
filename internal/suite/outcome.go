package suite

import (
	"errors"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

// A Status is the result of a case.
type Status string

// The statuses of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// An Outcome is the result of running an Item.
type Outcome struct {
	// Suite and Case are the names. Case is empty for a suite that could
	// not run.
	Suite, Case string
	// Path and Line are the position in the file.
	Path   string
	Line   int
	Status Status
	Took   time.Duration
	// Reason is why the case was skipped.
	Reason string
	// Failures are the reasons why the case failed.
	Failures []Failure
	// Updated lists the golden files that were written.
	Updated []string
	// Trace shows what each step did, if the case failed and Options.Trace
	// is set.
	Trace *report.Trace
}

// Name returns "suite/case", or the suite's name.
func (o Outcome) Name() string {
	if o.Case == "" {
		return o.Suite
	}
	return o.Suite + "/" + o.Case
}

// fail adds the errors joined in err. An error with a position of its own keeps
// it.
func (o *Outcome) fail(path string, line int, err error) {
	o.Status = Failed
	for _, e := range unjoin(err) {
		f := Failure{Path: path, Line: line, Failure: check.Failure{Text: e.Error(), Hint: hint.Of(e)}}
		if f.Hint == "" {
			f.Hint = hint.Of(err)
		}
		var at *manifest.Error
		if errors.As(e, &at) && at.Path == path && e.Error() == at.Error() {
			f.Line, f.Text = at.Line, at.Err.Error()
		}
		o.Failures = append(o.Failures, f)
	}
}

// unjoin returns the errors that err joins.
func unjoin(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range several.Unwrap() {
		all, texts = append(all, unjoin(e)...), append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return all
}

// A Failure is one expectation that is not met, with its position in the file.
type Failure struct {
	Path string
	Line int
	check.Failure
}
