package suite

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
	"github.com/xfn-dev/xfn/internal/suite/spec"
	"github.com/xfn-dev/xfn/render"
)

// DefaultTimeout is the timeout of a case that does not set a timeout.
const DefaultTimeout = time.Minute

// Options configure a run. Config and Now are required.
type Options struct {
	// Config configures all sessions. Config.Functions is ignored, because
	// each case names its functions.
	Config session.Config
	// Parallel is the number of cases that run concurrently. 0 means the
	// number of processors.
	Parallel int
	// Timeout is the timeout of cases that do not set a timeout. 0 means DefaultTimeout.
	Timeout time.Duration
	// FailFast ends the run after the first case that fails.
	FailFast bool
	// Crossplane replaces the version of Crossplane that cases imitate, if it is not "".
	Crossplane string
	// Features are switched on or off in all cases, in addition to the features of the case.
	Features composition.Features
	// Update, if not nil, writes golden files that differ from the output.
	Update func(path string, text []byte) error
	// Coverage collects what the cases exercise. It may be nil.
	Coverage *coverage.Collector
	// Trace adds a trace to the outcome of each case that fails.
	Trace bool
	// Recording returns a Runner that replays the recorded calls in path.
	// If nil, mocks cannot use recordings.
	Recording func(path string) (function.Runner, error)
	Now       func() time.Time
}

// errFailFast cancels a run after the first failure.
var errFailFast = errors.New("an earlier case failed")

// Run runs items concurrently and calls each with the outcomes, one at a time,
// in the order of the items. A function that several items use is started once
// and stopped before Run returns. Run returns the error of each, or the cause
// if ctx is done. If ctx or FailFast ended the run, Run calls each with outcomes for the cases that
// did not run. A case that fails is not an error of Run.
func Run(ctx context.Context, items []Item, o Options, each func(Outcome) error) (err error) {
	r := newRunner(o)
	allRan := false
	defer func() {
		if closing := r.sessions.close(ctx, allRan); err == nil || !errors.Is(closing, context.Cause(ctx)) {
			err = errors.Join(err, closing)
		}
	}()
	defer func() { r.fixtures.warn(r.options.Config.Progress) }()
	reported, ended := 0, false
	err = proc.ForEachOrdered(ctx, r.parallel(), items, func(work context.Context, _ int, item Item) Outcome {
		if cause := context.Cause(ctx); cause != nil {
			return newOutcome(item).notRun(cause)
		}
		out := r.run(work, item)
		if cause := context.Cause(ctx); out.Status == Failed && errors.Is(cause, context.Canceled) {
			return out.notRun(cause) // The interruption can be the reason.
		}
		return out
	}, func(out Outcome) error {
		reported++
		ended = ended || out.NotRun
		if err := each(out); err != nil {
			return err
		}
		if o.FailFast && out.Status == Failed {
			return errFailFast
		}
		return nil
	})
	cause := context.Cause(ctx)
	if allRan = err == nil && !ended; allRan {
		return nil
	}
	if err == nil {
		err = cause
	}
	if errors.Is(err, errFailFast) { // The cases that did not run have it as their reason.
		err, cause = nil, err
	} else if cause == nil || !errors.Is(err, cause) {
		return err
	}
	for _, item := range items[reported:] {
		if err := each(newOutcome(item).notRun(cause)); err != nil {
			return err
		}
	}
	return err
}

// A runner has the state that all cases of a run share.
type runner struct {
	options  Options
	sessions *sessions
	inline   *inline
	checker  check.Checker
	goldens  *goldens
	schemas  schemas
	fixtures *fixtures
	// resources has the decoded composite resources that cases patch. Patching copies them.
	resources proc.Memo[string, map[string]any]
}

func newRunner(o Options) *runner {
	r := &runner{options: o, inline: &inline{read: o.Config.Reader, docs: map[string][]manifest.Document{}}}
	r.options.Config.Reader.Documents = r.inline.documents
	r.options.Config.Progress = o.Config.Progress.Once()
	r.sessions = newSessions(r.options.Config)
	r.goldens = &goldens{written: map[string][]byte{}}
	r.fixtures = &fixtures{checked: map[string]bool{}, ran: map[string]bool{}, used: map[fixture]bool{}, unused: map[unused]bool{}}
	r.checker = check.Checker{Expressions: &check.Env{}}
	return r
}

func (r *runner) run(ctx context.Context, item Item) Outcome {
	out := newOutcome(item)
	if item.Case == nil {
		out.fail(item.Suite.Path, 0, item.Suite.Err)
		return out
	}
	began := r.options.Now()
	c, err := r.attempt(item)
	if c.out = &out; err != nil {
		c.fail(err)
	} else {
		c.run(ctx)
	}
	for i, f := range out.Failures {
		out.Failures[i].Inherited = f.Failure.Path == nil && c.item.Case.InDefaults(f.Line)
	}
	slices.SortStableFunc(out.Failures, func(x, y Failure) int { return cmp.Compare(x.Line, y.Line) })
	out.Took.Duration = r.options.Now().Sub(began) - c.waited
	return out
}

type attempt struct {
	*runner
	item Item
	out  *Outcome
	form spec.CaseSpec
	// calls records the calls of the last pass. It is nil in profile Alpha.
	calls *report.Recorder
	// coverage records what the case runs, if Options.Coverage is set.
	coverage coverage.Recorder
	// usage records which fixtures the functions use.
	usage usage
	// features are the features of the imitated Crossplane that are switched on or off.
	features composition.Features
	// waited is how long the case waited for the start of its functions.
	waited time.Duration
}

// attempt returns an attempt of a case. It has its own copy of the case, because Spec and Fields change
// one, and runs may be concurrent.
func (r *runner) attempt(item Item) (a *attempt, err error) {
	mine := *item.Case
	item.Case = &mine
	a = &attempt{runner: r, item: item, out: &Outcome{}}
	a.form, err = mine.Spec()
	return a, err
}

// fail adds err as a failure at the line of the case's field at path.
func (a *attempt) fail(err error, path ...string) {
	a.out.fail(a.item.Suite.Path, a.item.Case.Position(path...), err)
}

func (a *attempt) run(ctx context.Context) {
	if a.options.Crossplane != "" {
		a.form.Crossplane = a.options.Crossplane
	}
	if a.item.composition != nil {
		a.form.Composition = spec.Source{Object: a.item.composition}
	}
	if a.item.fuzz != nil {
		a.item.fuzz.apply(&a.form)
	}
	if a.form.Skip != "" {
		a.out.Status, a.out.Reason = Skipped, a.form.Skip
		return
	}
	limit := cmp.Or(a.form.Timeout.Duration, a.options.Timeout, DefaultTimeout)
	ctx, cancel := proc.WithTimeout(ctx, limit, &timeoutError{limit})
	defer cancel()
	in, release, err := a.inputs(ctx)
	defer release()
	if err != nil {
		a.fail(err)
		return
	}
	s, err := a.sessions.forFunctions(ctx, a)
	if err != nil {
		a.fail(err, "functions")
		return
	}
	var result session.Result
	if err := s.Render(ctx, in, func(r session.Result) error {
		result = r
		return nil
	}); err != nil {
		result.Err = err
	}
	a.out.result, a.out.mocks = result, a.form.Mocks
	a.out.ran = a.called(result.Functions)
	a.out.timedOut = errors.As(context.Cause(ctx), new(*timeoutError))
	a.fixtures.mu.Lock()
	a.fixtures.ran[a.item.Name()] = true
	a.fixtures.mu.Unlock()
	a.checkResult(ctx, result)
	if result.Err == nil {
		a.checkFixtures(ctx, result)
	}
	a.cover(ctx, result)
	if a.out.Status == Failed && a.options.Trace && a.calls != nil {
		trace := a.calls.Trace(a.out.Name()).Complete(result.RuntimeOf, result.Err)
		a.out.Trace = &trace
	}
}

// called returns the runs of functions that the case called in steps that are not mocked.
func (a *attempt) called(runs []session.Run) (all []session.Run) {
	if a.calls == nil {
		return nil
	}
	calls := a.calls.Calls()
	for _, r := range runs {
		if slices.ContainsFunc(calls, func(c report.Call) bool {
			_, mocked := a.form.Mocks[c.Step]
			return c.Function == r.Function && !mocked
		}) {
			all = append(all, r)
		}
	}
	return all
}

// A timeoutError is the cause of the end of a case that exceeds its timeout.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("the case timed out after %s", e.limit) }

// checkResult checks the render's result, or its error, against the expectations of the case.
func (a *attempt) checkResult(ctx context.Context, result session.Result) {
	e, err := a.form.Expect, result.Err
	var fatal *render.FatalError
	isFatal := errors.As(err, &fatal)
	switch {
	case e.Fatal != nil && isFatal:
		a.match(e.Fatal, "fatal", "fatal result", fatal.Message)
	case e.Fatal != nil && err == nil:
		a.fail(fmt.Errorf("want a fatal result that %s, but the render succeeded", check.Words(e.Fatal)), "expect", "fatal")
	case e.Error != nil && err != nil:
		a.match(e.Error, "error", "error", err.Error())
	case e.Error != nil:
		a.fail(fmt.Errorf("want an error that %s, but the render succeeded", check.Words(e.Error)), "expect", "error")
	case err != nil:
		a.failRender(ctx, err)
	default:
		a.check(ctx, result)
	}
}

// failRender adds err, the error of the render, and the cause if ctx is done.
func (a *attempt) failRender(ctx context.Context, err error) {
	if unknown, ok := errors.AsType[*session.UnknownStepError](err); ok {
		a.fail(unknown, "mocks", unknown.Step)
		return
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w; %w", err, cause)
	}
	if xr := a.form.XR; xr.File != "" && ctx.Err() == nil {
		if _, notXR := a.read(ctx, xr.File, xr.Patch == nil); notXR != nil {
			err = notXR
		}
	}
	a.fail(err, a.source(err)...)
}

func (a *attempt) match(want *spec.Text, key, what, got string) {
	switch ok, err := check.Match(want, got); {
	case err != nil:
		a.fail(err, "expect", key)
	case !ok:
		a.fail(fmt.Errorf("want a %s that %s, got: %s", what, check.Words(want), got), "expect", key)
	}
}

func (a *attempt) check(ctx context.Context, result session.Result) {
	checker := a.checker
	checker.Goldens, checker.Validate, checker.OnField = caseGoldens{a}, a.validate, a.checkField
	for _, f := range checker.Check(ctx, a.form, a.subject(result)) {
		a.out.Status = Failed
		a.out.Failures = append(a.out.Failures, Failure{Path: a.item.Suite.Path, Line: a.item.Case.Position(f.Path...), Failure: f})
	}
}

func (a *attempt) subject(r session.Result) *check.Subject {
	s := &check.Subject{
		Document: r.XR, XR: r.Full, Composed: r.Composed,
		Passes: r.Passes, ReadySince: r.ReadySince, Settled: r.Settled,
	}
	if s.XR == nil {
		s.XR = r.XR
	}
	all := *r.LastPass.Result
	all.XR = s.XR
	s.Documents = all.Documents(render.Include{Results: true, Context: true})
	s.Context = fieldpath.Map(r.Context, "fields")
	s.Connection = connection(r.ConnectionDetails)
	s.IsOperation = isSet(a.form.Operation)
	if a.calls == nil {
		return s
	}
	calls := a.calls.LastCalls()
	for _, c := range calls {
		for _, r := range report.ResultsOf(c.Response) {
			s.Results = append(s.Results, check.Reported{Step: c.Step, Result: r})
		}
	}
	if len(calls) > 0 {
		s.Ready, s.Names = map[string]bool{}, map[string]string{}
		for name, r := range calls[len(calls)-1].Response.GetDesired().GetResources() {
			s.Ready[name] = r.GetReady() == fnv1.Ready_READY_TRUE
			if s.IsOperation {
				s.Names[check.Identity(r.GetResource().AsMap())] = name
			}
		}
	}
	s.Trace = func() report.Trace { return a.calls.Trace(a.out.Name()) }
	return s
}

func connection(doc map[string]any) map[string]any {
	out := map[string]any{}
	for key, text := range fieldpath.Texts(doc, "data") {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			out[key] = string(raw)
		}
	}
	return out
}
