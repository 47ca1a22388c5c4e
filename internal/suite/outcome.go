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

// fail adds errors to an outcome, each with its own line if it has one.
func (o *Outcome) fail(path string, line int, err error) {
	o.Status = Failed
	for _, e := range flat(err) {
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

// flat returns the errors that were joined, which stand on lines of their own.
func flat(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range several.Unwrap() {
		all, texts = append(all, flat(e)...), append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return all
}

// A Failure is one thing that is wrong, and where the file says otherwise.
type Failure struct {
	Path string
	Line int
	check.Failure
}
