package dev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/render"
)

// A Round is the result of one run of a Plan.
type Round struct {
	// N is the number of the round, counted from 1. Plan is the plan that the round ran.
	N      int
	Plan   Plan
	Starts []Start
	// Rendered is nil if the plan did not include a render, and Tested is nil if
	// it did not include tests.
	Rendered *Rendering
	Tested   *Testing
	// Notes has the notes that no earlier round had. Warnings may be the same as
	// in earlier rounds.
	Notes, Warnings []string
	// Good is the last successful render up to this round, or nil. GoodN is the
	// number of the round of that render.
	Good           *Rendering
	GoodN          int
	RefreshErr     error
	Files, Folders int

	// renders and tests are the paths that the render and the tests of the round read.
	renders, tests []string
	// trees are the paths in renders and tests that are folders in which all files count.
	trees []string
	// refreshed and refreshErr are the result of the refresh, if the plan has one.
	refreshed  Config
	refreshErr error
}

// A Rendering is the result of a render.
type Rendering struct {
	// Took is the duration of the render, without the time to start functions.
	Took time.Duration
	Err  error
	// Documents has the XRs and the composed resources. Diff has the differences
	// from the last successful render. If there is none, First is true, and Diff
	// has all documents as added.
	Documents []map[string]any
	Diff      []report.DocDiff
	First     bool
	Traces    []report.Trace
}

// A Testing is the result of running test suites.
type Testing struct {
	Took     time.Duration
	Outcomes []suite.Outcome
	// Err is the error that prevented a run of the suites. Missing has the functions that
	// failed to start, if cases call them. Outcomes does not have these cases.
	Err     error
	Missing []string
}

func (l *loop) do(ctx context.Context, n int, p Plan, step func(string)) Round {
	r := Round{N: n, Plan: p}
	if p.Refresh {
		r.refreshed, r.refreshErr = l.config.Refresh.Do(ctx)
		return r
	}
	l.pool.Begin()
	for _, pkg := range p.Restart {
		l.pool.Drop(ctx, pkg)
	}
	events := &events{step: step}
	if p.Render {
		files := &manifest.Reads{Fs: l.config.Session.Reader.FS}
		r.Rendered = l.render(ctx, files, events.add)
		r.renders, r.trees = files.Paths(), files.Trees()
	}
	if p.Test && len(l.config.Suites) > 0 {
		files := &manifest.Reads{Fs: l.config.Session.Reader.FS}
		r.Tested = l.test(ctx, files, events.add, p.Accept)
		r.tests, r.trees = files.Paths(), append(r.trees, files.Trees()...)
	}
	r.Starts = l.pool.Starts()
	r.Notes, r.Warnings = events.notes, events.warnings
	return r
}

// session returns the configuration of a session of a round. Its runtimes are the
// runtimes of the Pool, so functions keep running after the session is closed.
func (l *loop) session(files *manifest.Reads, p progress.Func) session.Config {
	c := l.config.Session
	c.Reader.FS = files
	c.Runtimes = l.runtimes
	c.Progress = p
	c.BuiltinOptions.Progress = p
	c.BuiltinOptions.GoTemplating.Search = func(path string) {
		if !slices.ContainsFunc(c.BuiltinOptions.Folders(), func(dir string) bool { return fsx.IsWithin(dir, path) }) {
			files.RecordTree(path)
		}
	}
	return c
}

func (l *loop) render(ctx context.Context, files *manifest.Reads, p progress.Func) *Rendering {
	ctx, cancel := proc.WithTimeout(ctx, l.config.Timeout, hint.Wrap(fmt.Errorf("timed out after %s", l.config.Timeout), "raise the limit with "+hint.Timeout))
	defer cancel()
	began := l.config.Now()
	s := session.Open(l.session(files, p))
	out := &Rendering{}
	recorders := report.Recorders{Now: l.config.Now}
	in := l.config.Inputs
	in.WrapRunner = recorders.Wrap
	var errs []error
	err := s.Render(ctx, in, func(r session.Result) error {
		trace, _ := recorders.Trace(r.N, r.Source, r.RuntimeOf, r.Err)
		out.Traces = append(out.Traces, trace)
		for _, text := range r.Invalid {
			p.Warn(text)
		}
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Source, r.Err))
			return nil
		}
		out.Documents = append(out.Documents, r.Documents(render.Include{})...)
		for _, w := range r.Warnings {
			p.Warn(w)
		}
		return nil
	})
	if errors.Is(err, composition.ErrKind) && hint.Of(err) == "" {
		err = hint.Wrap(err, "the order of the files is composite resource, Composition, functions")
	}
	out.Err = errors.Join(append(errs, err, s.Close(ctx))...)
	if cause := context.Cause(ctx); cause != nil && out.Err != nil && !errors.Is(out.Err, cause) {
		out.Err = fmt.Errorf("%w; %w", out.Err, cause)
	}
	out.Took = l.config.Now().Sub(began)
	for _, start := range l.pool.Starts() {
		out.Took -= start.Compiled + start.Took
	}
	out.Took = max(out.Took, 0) // The times of concurrent starts may exceed the duration.
	return out
}

func (l *loop) test(ctx context.Context, files *manifest.Reads, p progress.Func, accept bool) *Testing {
	began := l.config.Now()
	out := &Testing{}
	config := l.session(files, p)
	runners := function.Mux{}
	maps.Copy(runners, config.Runners)
	for _, name := range l.pool.Unstarted() {
		runners[name] = startFailure(name)
	}
	config.Runners = runners
	config.Used = func([]string) {} // Suites need not call all functions, and the render warns.
	suites, err := suite.Load(ctx, config.Reader, l.config.Suites)
	if errors.Is(err, suite.ErrNone) && l.config.SuitesMayBeNone {
		return nil
	}
	var items []suite.Item
	if err == nil {
		items, err = suite.Plan(suites, suite.Selection{})
	}
	if err == nil {
		o := suite.Options{Config: config, Timeout: l.config.CaseTimeout, Trace: true, Now: l.config.Now}
		if accept {
			o.Update = suite.WriteGolden
		}
		err = suite.Run(ctx, items, o, func(o suite.Outcome) error {
			missing, untested := errors.AsType[startFailure](o.Err())
			switch {
			case !untested:
				out.Outcomes = append(out.Outcomes, o)
			case !slices.Contains(out.Missing, string(missing)):
				out.Missing = append(out.Missing, string(missing))
			}
			return nil
		})
	}
	out.Err = err
	out.Took = l.config.Now().Sub(began)
	return out
}

// A startFailure is the name of a function that failed to start in this round. It is a Runner that
// returns itself as an error.
type startFailure string

func (f startFailure) Error() string { return fmt.Sprintf("function %q does not start", string(f)) }

// RunFunction returns f.
func (f startFailure) RunFunction(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return nil, f
}

func (t *Testing) tally() (all suite.Tally) {
	for _, o := range t.Outcomes {
		all.Add(o)
	}
	return all
}

// wrote reports whether a change is in a golden file that the tests wrote, or in
// its folder.
func (t *Testing) wrote(c Change) bool {
	if t == nil {
		return false
	}
	return slices.ContainsFunc(t.Outcomes, func(o suite.Outcome) bool {
		return slices.ContainsFunc(o.Updated, func(path string) bool {
			return filepath.Clean(c.Path) == path || filepath.Clean(c.Path) == filepath.Dir(path)
		})
	})
}

// mostEvents is the maximum number of notes of a round, and also of its warnings.
const mostEvents = 200

// events collects the notes and warnings of a round. It is safe for concurrent use.
type events struct {
	step func(string)

	mu              sync.Mutex
	notes, warnings []string
}

func (e *events) add(ev progress.Event) {
	switch ev.Kind {
	case progress.Step:
		e.step(ev.Text)
		return
	case progress.Bytes:
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	list := &e.notes
	if ev.Kind == progress.Warning {
		list = &e.warnings
	}
	if len(*list) < mostEvents {
		*list = append(*list, ev.Text)
	}
}
