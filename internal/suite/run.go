package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/spec"
	"github.com/xfn-dev/xfn/render"
)

// DefaultTimeout is how long a case may take that does not say how long.
const DefaultTimeout = time.Minute

// Options say how to run. Config and Now have to be set.
type Options struct {
	// Config is what all sessions share. Its Functions are not used: cases name
	// theirs.
	Config session.Config
	// Parallel is how many cases run at a time; 0 is as many as there are
	// processors.
	Parallel int
	// Timeout is how long a case may take that does not say so itself; 0 is
	// DefaultTimeout.
	Timeout time.Duration
	// FailFast ends the run with the first case that fails.
	FailFast bool
	// Update, if not nil, writes golden files that are not as what is rendered.
	Update func(path string, text []byte) error
	// Trace keeps a trace of each case that fails.
	Trace bool
	// Recording returns what answers from a recording of a function's calls. Nil
	// knows none.
	Recording func(path string) (function.Runner, error)
	// Now is the clock.
	Now func() time.Time
}

// errEnough ends a run early.
var errEnough = errors.New("a case failed")

// Run runs items, several at a time, and hands what became of each to each, one
// at a time and in the order of the items. Functions start once for all items
// that name the same, and are stopped when Run returns. It returns what each
// returns, and why ctx ended; what is wrong with a case is in its Outcome.
func Run(ctx context.Context, items []Item, o Options, each func(Outcome) error) (err error) {
	r := newRunner(o)
	defer func() { err = errors.Join(err, r.sessions.close(ctx)) }()
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	err = proc.ForEachOrdered(ctx, parallel, items, func(ctx context.Context, _ int, item Item) Outcome {
		return r.run(ctx, item)
	}, func(out Outcome) error {
		if err := each(out); err != nil {
			return err
		}
		if o.FailFast && out.Status == Failed {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// A runner is what all cases of a run share.
type runner struct {
	options  Options
	sessions *sessions
	inline   *inline
	checker  check.Checker
	goldens  *goldens
	schemas  schemas
}

func newRunner(o Options) *runner {
	r := &runner{options: o, inline: newInline(o.Config.Reader.Documents)}
	r.options.Config.Reader.Documents = r.inline.documents
	r.options.Config.Progress = once(o.Config.Progress)
	r.sessions = &sessions{config: r.options.Config, open: map[string]*session.Session{}}
	r.goldens = &goldens{fs: o.Config.Reader.FS, write: o.Update, written: map[string][]byte{}}
	r.checker = check.Checker{Expressions: &check.Env{}}
	return r
}

// run runs one item.
func (r *runner) run(ctx context.Context, item Item) Outcome {
	out := Outcome{Suite: item.Suite.Name, Path: item.Suite.Path, Status: Passed}
	if item.Case == nil {
		out.fail(item.Suite.Path, 0, item.Suite.Err)
		return out
	}
	mine := *item.Case // it may run several times at once
	item.Case = &mine
	out.Case, out.Line = mine.Name, item.Line()
	began := r.options.Now()
	c := attempt{runner: r, item: item, out: &out}
	c.run(ctx)
	slices.SortStableFunc(out.Failures, func(x, y Failure) int { return cmp.Compare(x.Line, y.Line) })
	out.Took = r.options.Now().Sub(began)
	return out
}

// An attempt is the run of one case.
type attempt struct {
	*runner
	item Item
	out  *Outcome
	form spec.Form
	// calls records the calls of the last pass. It is nil in profile Alpha.
	calls *report.Recorder
}

// fail adds an error that belongs to a field of the case.
func (a *attempt) fail(err error, path ...string) {
	a.out.fail(a.item.Suite.Path, a.item.Case.Position(path...), err)
}

func (a *attempt) run(ctx context.Context) {
	var err error
	if a.form, err = a.item.Case.Form(); err != nil {
		a.fail(err)
		return
	}
	if a.form.Skip != "" {
		a.out.Status, a.out.Reason = Skipped, a.form.Skip
		return
	}
	ctx, cancel := a.bounded(ctx)
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
	err = s.Render(ctx, in, func(r session.Result) error {
		result = r
		return nil
	})
	if err == nil {
		err = result.Err
	}
	a.judge(ctx, result, err)
	if a.out.Status == Failed && a.options.Trace && a.calls != nil {
		trace := a.calls.Trace(a.out.Name()).Complete(result.RuntimeOf, err)
		a.out.Trace = &trace
	}
}

// bounded limits how long the case may take.
func (a *attempt) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := a.form.Timeout.Duration
	if limit == 0 {
		limit = a.options.Timeout
	}
	if limit == 0 {
		limit = DefaultTimeout
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("the case took longer than %s", limit))
}

// judge holds what the render made, or why it made nothing, to what the case
// expects.
func (a *attempt) judge(ctx context.Context, result session.Result, err error) {
	e := a.form.Expect
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

// failRender adds why there is nothing to check.
func (a *attempt) failRender(ctx context.Context, err error) {
	var unknown *session.UnknownStepError
	if errors.As(err, &unknown) {
		a.fail(unknown, "mocks", unknown.Step)
		return
	}
	a.fail(cause(ctx, err))
}

// cause adds to an error that the time is up, if that is why it came about.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(err, c) {
		return fmt.Errorf("%w; %w", err, c)
	}
	return err
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
	mine := caseGoldens{goldens: a.goldens, of: a}
	checker.Goldens = mine
	checker.Validate = a.validate
	for _, f := range checker.Check(ctx, a.form, a.subject(result)) {
		a.out.Status = Failed
		a.out.Failures = append(a.out.Failures, Failure{Path: a.item.Suite.Path, Line: a.item.Case.Position(f.Path...), Failure: f})
	}
}
