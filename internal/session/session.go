package session

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/proc/watchdog"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session/converge"
	"github.com/xfn-dev/xfn/internal/session/intercept"
	"github.com/xfn-dev/xfn/render"
)

// Config is what all renders of a session share.
type Config struct {
	// Reader reads every file that the session is given.
	Reader manifest.Reader
	// Functions is a file or folder of Function objects, or of the metadata of a
	// package, of whose dependencies the pipelines' functions are found, or "".
	Functions string
	// Dependencies says which versions of packages those dependencies mean. It has
	// to be set if there are any.
	Dependencies Resolver
	// Locked has Dependencies asked also where a builtin would do, since it knows
	// the one version that counts, and asks nobody for it.
	Locked bool
	// Packages gives functions by name a package of their own, whatever the
	// functions file says: the path of an .xpkg or of a folder that holds a
	// Go main package.
	Packages map[string]string
	// Annotations are put on every Function, over what its file says.
	Annotations map[string]string
	// Runtime runs every function, if it is not Auto.
	Runtime Runtime
	// Builtins says when a builtin stands in for a package.
	Builtins builtin.Policy
	// BuiltinOptions are for the builtins that are taken.
	BuiltinOptions builtin.Options
	// Crosscheck runs the builtin beside every function that there is one for,
	// and makes an error of the first difference between their answers.
	Crosscheck bool
	// Runtimes start functions, by what a Function may ask for.
	Runtimes map[Runtime]runtimes.Runtime
	// Containers run the functions of Compositions of the alpha that name no
	// runner of their own, in profile Alpha. Nil means that nothing does.
	Containers alpha.ContainerRunner
	// Runners answer for functions by name, before anything else is asked.
	Runners function.Mux
	// Replay, if not nil, answers for every other function, which then need
	// neither exist nor start. Wrap, if not nil, is put around what calls
	// functions, as a recorder. Profile Alpha takes neither.
	Replay function.Runner
	Wrap   func(function.Runner) function.Runner
	// Cache is a folder of functions' answers, or "" for none. CacheMaxTTL is
	// the longest that one is kept (intercept.DefaultMaxTTL if 0), by the clock Now,
	// which has to be set if Cache is.
	Cache       string
	CacheMaxTTL time.Duration
	Now         func() time.Time
	// Progress hears which runtime ran what, and warnings.
	Progress progress.Func
}

// A Session renders, and keeps the functions that it started until it closes: a
// function stays the one that its name stood for first. It is safe for
// concurrent use.
type Session struct {
	config Config
	// calls answers for every function by name, the cache before it if there
	// is one.
	calls  func(context.Context) function.Runner
	pruned sync.Once
	// container is what runs images where nobody says what does, once containers
	// is done.
	containers  sync.Once
	container   Runtime
	noContainer error

	decoded decoded

	mu      sync.Mutex
	closed  bool
	running map[string]*started
}

// A Run says how a function ran.
type Run struct {
	// Function is its name, Package its spec.package or what replaced it.
	Function, Package string
	// Runtime is what ran it; Detail says more, for people.
	Runtime Runtime
	Detail  string
}

// Result is what the render of one XR made, and of what.
type Result struct {
	// N tells the XR from all others. Source is where it stands, as
	// "path:line", and for one that another composes, how it got there.
	N      int
	Source string
	// Document is the one that holds the XR, or its claim. It has no Text for one
	// that another composes.
	Document manifest.Document
	// Result is nil if Err is not. It is the last of several passes, if there
	// is an observe loop.
	*converge.Result
	// Observed are the composed resources that it had.
	Observed []*unstructured.Unstructured
	// Functions are those that the pipeline used, in its order, but for
	// Config.Runners.
	Functions []Run
	// Err says why there is no result. A function's FATAL result is a
	// *render.FatalError in its chain.
	Err error
}

// RuntimeOf returns the Runtime of a function, or "" if none of Functions has
// that name.
func (r Result) RuntimeOf(function string) string {
	for _, run := range r.Functions {
		if run.Function == function {
			return string(run.Runtime)
		}
	}
	return ""
}

// Open begins a session. It starts nothing yet.
func Open(config Config) *Session {
	s := &Session{config: config, running: map[string]*started{}}
	if config.Cache == "" {
		s.calls = func(context.Context) function.Runner { return function.RunnerFunc(s.call) }
		return s
	}
	cached := sync.OnceValue(func() function.Runner {
		return intercept.Cache(function.RunnerFunc(s.call), intercept.CacheOptions{
			Dir: config.Cache, MaxTTL: config.CacheMaxTTL, Now: config.Now, Progress: config.Progress, Identity: s.identity,
		})
	})
	s.calls = func(ctx context.Context) function.Runner {
		s.pruned.Do(func() {
			if _, err := intercept.PruneCache(ctx, config.Cache, config.Now()); err != nil {
				config.Progress.Warn(fmt.Sprintf("pruning the function response cache %q: %v", config.Cache, err))
			}
		})
		return cached()
	}
	return s
}

// Render loads the inputs, starts the functions that their pipeline uses and
// that are not running yet, and renders each XR. It hands the results to each,
// one at a time and in the order of the XRs, while later ones are still being
// rendered. What keeps any XR from being rendered, and what each returns, is
// returned; what is wrong with one XR is in its Result.
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
	if len(in.Compositions) > 0 {
		return s.renderNested(ctx, docs, in, each)
	}
	p, err := s.load(ctx, in, docs)
	if err != nil {
		return err
	}
	s.warnUnused(p.request.Composition)
	runner, runs, err := s.runner(ctx, p, p.request.Composition)
	if err != nil {
		return err
	}
	return renderEach(ctx, docs, func(ctx context.Context, n int, doc manifest.Document) []Result {
		r := Result{N: n, Source: doc.Position(), Document: doc, Functions: runs}
		r.Result, r.Observed, r.Err = p.render(ctx, in.wrapRunner(n, runner), doc)
		r.Err = s.advise(r.Err)
		return []Result{r}
	}, each)
}

// renderEach renders the XRs of documents, several at a time, and passes the
// results to each in the order of the documents.
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

// runner starts what a Composition's pipeline uses, and returns what calls it.
func (s *Session) runner(ctx context.Context, p plan, c *apiextv1.Composition) (function.Runner, []Run, error) {
	if s.config.Replay != nil {
		return answering(p.in.Steps, s.wrap(s.config.Replay)), nil, nil
	}
	choices, err := s.choose(ctx, unanswered(c, p.in.Steps), p.functions)
	if err != nil {
		return nil, nil, err
	}
	runs, err := s.start(ctx, choices)
	return answering(p.in.Steps, s.wrap(s.calls(ctx))), runs, err
}

func (s *Session) wrap(r function.Runner) function.Runner {
	if s.config.Wrap == nil {
		return r
	}
	return s.config.Wrap(r)
}

func (in Inputs) wrapRunner(n int, r function.Runner) function.Runner {
	if in.WrapRunner == nil {
		return r
	}
	return in.WrapRunner(n, r)
}

func (p plan) render(ctx context.Context, run function.Runner, doc manifest.Document) (*converge.Result, []*unstructured.Unstructured, error) {
	req, err := p.forXR(doc)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.passes(ctx, run, req)
	if err != nil {
		return nil, nil, err
	}
	return r, req.Observed, nil
}

func (p plan) passes(ctx context.Context, run function.Runner, req render.Request) (r *converge.Result, err error) {
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
