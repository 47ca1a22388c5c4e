package session

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/proc/watchdog"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session/converge"
	"github.com/xfn-dev/xfn/internal/session/intercept"
	"github.com/xfn-dev/xfn/render"
)

// Config configures a session.
type Config struct {
	// Reader reads all input files.
	Reader manifest.Reader
	// Functions is a file or folder of Function objects, or of package
	// metadata that depends on the functions. It may be "".
	Functions string
	// Dependencies resolves the versions of dependencies. It is required if
	// there are any.
	Dependencies Resolver
	// Locked says that Dependencies has locked versions, which are used
	// even if a builtin satisfies a dependency.
	Locked bool
	// Packages replaces the packages of functions, by name: the path of an
	// .xpkg file or of a folder with source.
	Packages map[string]string
	// Annotations override the annotations of all Functions.
	Annotations map[string]string
	// Runtime, unless Auto, runs every function.
	Runtime Runtime
	// Builtins decides when a builtin replaces a package.
	Builtins builtin.Policy
	// BuiltinOptions configure builtins.
	BuiltinOptions builtin.Options
	// Crosscheck also runs the builtin of each function that has one, and
	// fails at the first difference between their responses.
	Crosscheck bool
	// Runtimes start functions, by Runtime.
	Runtimes map[Runtime]runtimes.Runtime
	// Containers runs the alpha functions that name no runner. It may be
	// nil.
	Containers alpha.ContainerRunner
	// Runners are called for functions by name, before any other runtime.
	Runners function.Mux
	// Replay, if not nil, answers for all other functions, which then need
	// not exist. Wrap, if not nil, wraps the Runner of functions.
	Replay function.Runner
	Wrap   func(function.Runner) function.Runner
	// Cache is the folder of cached responses, or "". CacheMaxTTL limits
	// their age (0 means intercept.DefaultMaxTTL). It requires the clock
	// Now.
	Cache       string
	CacheMaxTTL time.Duration
	Now         func() time.Time
	// Progress gets notes about runtimes, and warnings.
	Progress progress.Func
}

// A Session renders, and keeps its functions running until it is closed. A name
// means the same running function in all renders. It is safe for concurrent
// use.
type Session struct {
	config Config
	// calls runs all functions, with the cache if there is one. opened
	// creates it once.
	opened sync.Once
	calls  function.Runner
	// container is the runtime for images. If it is Auto, noContainer is
	// the reason why there is none. Both are set once by containers.
	containers  sync.Once
	container   Runtime
	noContainer error
	// Thousands of renders share these decoded documents.
	compositions proc.Memo[content, checked]
	listings     proc.Memo[content, listing]

	mu      sync.Mutex
	closed  bool
	running map[string]*started
}

// A Run describes how a function ran.
type Run struct {
	// Package is the package that ran, which may replace spec.package.
	Function, Package string
	// Runtime ran the function. Detail describes for users how it ran.
	Runtime Runtime
	Detail  string
}

// A Result is the output of the render of one XR, with its inputs.
type Result struct {
	// N is the unique number of the XR. Source is its position as
	// "path:line" and, for a nested XR, the path to it.
	N      int
	Source string
	// Document is the XR or its claim. It has no Text for a nested XR.
	Document manifest.Document
	// Result is nil if Err is not nil.
	*converge.Result
	// Observed are the observed composed resources.
	Observed []*unstructured.Unstructured
	// Functions describe how the functions of the pipeline ran, except
	// those in Config.Runners.
	Functions []Run
	// Err is the error of the render. A FATAL result is a
	// *render.FatalError.
	Err error
}

// RuntimeOf returns the Runtime of a function, or "" if it is unknown.
func (r Result) RuntimeOf(function string) string {
	i := slices.IndexFunc(r.Functions, func(run Run) bool { return run.Function == function })
	if i < 0 {
		return ""
	}
	return string(r.Functions[i].Runtime)
}

// Open returns a session. It starts no function.
func Open(config Config) *Session {
	return &Session{config: config, running: map[string]*started{}}
}

// open creates s.calls, and the cache if it is enabled.
func (s *Session) open(ctx context.Context) {
	s.calls = function.RunnerFunc(s.call)
	c := s.config
	if c.Cache == "" {
		return
	}
	if _, err := intercept.PruneCache(ctx, c.Cache, c.Now()); err != nil {
		c.Progress.Warn(fmt.Sprintf("pruning the function response cache %q: %v", c.Cache, err))
	}
	s.calls = intercept.Cache(s.calls, intercept.CacheOptions{
		Dir: c.Cache, MaxTTL: c.CacheMaxTTL, Now: c.Now, Progress: c.Progress, Identity: s.identity,
	})
}

// Render loads the inputs, starts the functions of the pipeline that do not run
// yet, and renders each XR. It calls each with the results, one at a time and
// in the order of the XRs, while later ones are rendered. It returns the errors
// of each and those that affect all XRs; an error of one XR is in its Result.
func (s *Session) Render(ctx context.Context, in Inputs, each func(Result) error) error {
	docs, err := s.xrs(ctx, in)
	if err != nil {
		return err
	}
	if in.Profile == render.Alpha {
		return s.renderAlpha(ctx, docs, in, each)
	}
	if in.LiteralDeletion {
		return fmt.Errorf("literal deletion is for profile %s", render.Alpha)
	}
	if in.WrapRunner == nil {
		in.WrapRunner = func(_ int, r function.Runner) function.Runner { return r }
	}
	if len(in.Compositions) > 0 {
		return s.renderNested(ctx, docs, in, each)
	}
	p, err := s.load(ctx, in, docs)
	if err != nil {
		return err
	}
	s.warnUnused(p.entry)
	runner, runs, err := s.runner(ctx, p, p.entry)
	if err != nil {
		return err
	}
	return renderEach(ctx, docs, func(ctx context.Context, n int, doc manifest.Document) []Result {
		r := Result{N: n, Source: doc.Position(), Document: doc, Functions: runs}
		run := in.WrapRunner(n, runner)
		req, err := p.forXR(doc)
		if err == nil {
			r.Result, err = p.render(ctx, run, req)
		}
		if r.Err = s.advise(err); err == nil {
			r.Observed = req.Observed
		}
		return []Result{r}
	}, each)
}

// renderEach renders documents concurrently, and calls each in their order.
func renderEach(ctx context.Context, docs []manifest.Document, render func(context.Context, int, manifest.Document) []Result, each func(Result) error) error {
	return proc.ForEachOrdered(ctx, runtime.GOMAXPROCS(0), docs, func(ctx context.Context, n int, doc manifest.Document) []Result {
		defer watchdog.Enter(ctx, "rendering "+doc.Position())()
		return render(ctx, n, doc)
	}, func(results []Result) error {
		for _, r := range results {
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// runner starts the functions of a Composition and returns their Runner.
func (s *Session) runner(ctx context.Context, p plan, e composition.Entry) (function.Runner, []Run, error) {
	calls := s.config.Replay
	var runs []Run
	if calls == nil {
		choices, err := s.choose(ctx, functionNames(p.in.Steps, e), p.functions)
		if err != nil {
			return nil, nil, err
		}
		if runs, err = s.start(ctx, choices); err != nil {
			return nil, nil, err
		}
		s.opened.Do(func() { s.open(ctx) })
		calls = s.calls
	}
	if s.config.Wrap != nil {
		calls = s.config.Wrap(calls)
	}
	return answering(p.in.Steps, calls), runs, nil
}

// render renders an XR, once or in passes.
func (p plan) render(ctx context.Context, run function.Runner, req render.Request) (r *converge.Result, err error) {
	if p.in.ObserveLoop == 0 {
		r = &converge.Result{Passes: 1}
		r.Result, err = render.Render(ctx, run, req)
	} else {
		r, err = converge.Render(ctx, run, req, converge.Options{Passes: 1 + p.in.ObserveLoop, Fixtures: p.fixtures})
	}
	if err != nil {
		return nil, fmt.Errorf("rendering composite resource %q: %w", req.XR.GetName(), err)
	}
	return r, nil
}
