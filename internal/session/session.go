package session

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/session/intercept"
	"github.com/xfn-dev/xfn/render"
)

// Config configures a session.
type Config struct {
	Reader manifest.Reader
	// Functions is a file or folder of Function objects, or of package metadata
	// with the functions as dependencies. It may be "".
	Functions string
	// AddFunction says how a function is added to Functions. The default is a Function object.
	AddFunction hint.Hint
	// Dependencies selects the versions of dependencies in package metadata. It is
	// required if Functions contains package metadata.
	Dependencies Resolver
	// Locked means that Dependencies returns locked versions, which are used even
	// if a builtin satisfies a dependency.
	Locked bool
	// Packages replaces the packages of functions, by the name of the function. A
	// package is the path of an .xpkg file or of a folder with source.
	Packages map[string]string
	// References replaces the packages of functions by references, by the name of the function. A
	// value without a slash is a tag that replaces the tag of the package. A builtin does not
	// replace a version that it does not imitate: the package runs.
	References map[string]string
	// Referenced, if not nil, is called with each reference of References, with its repository,
	// before the function starts.
	Referenced func(reference string)
	// Verify, if not nil, is called before a function starts, unless it is a builtin. It
	// returns the reference of the verified package, which the runtime then runs. A function
	// that is not a package in a registry is an error.
	Verify func(ctx context.Context, runtime Runtime, fn runtimes.Function) (string, error)
	// Annotations override the annotations of every Function.
	Annotations map[string]string
	// Runtime runs every function. If it is Auto, a runtime is chosen for each function.
	Runtime Runtime
	// Builtins decides when a builtin replaces a package.
	Builtins builtin.Policy
	// BuiltinOptions configure builtins.
	BuiltinOptions builtin.Options
	// ExplainBuiltins notes for each step why it runs as a builtin or not.
	ExplainBuiltins bool
	// Crosscheck also calls the builtin of each function that has one, and fails
	// at the first difference between the responses.
	Crosscheck bool
	// Runtimes contains the implementation of each Runtime. It starts functions.
	Runtimes map[Runtime]runtimes.Runtime
	// Containers runs alpha functions for which the Composition names no remote
	// runner. It may be nil.
	Containers alpha.ContainerRunner
	// Runners maps names of functions to Runners that are called instead of any runtime.
	Runners function.Mux
	// Replay, if not nil, responds for all functions except those in Runners, which are then
	// not started and need not exist. Wrap, if not nil, wraps the Runner that calls functions.
	Replay function.Runner
	Wrap   func(function.Runner) function.Runner
	// Cache is the folder of cached responses, or "" for no cache. CacheMaxTTL limits their age; 0
	// means intercept.DefaultMaxTTL. Now is the clock that the cache requires.
	Cache       string
	CacheMaxTTL time.Duration
	Now         func() time.Time
	// Lenient renders Compositions with unknown fields, with a warning. Otherwise these fields,
	// which an API server drops, are errors.
	Lenient bool
	// Used, if not nil, is called in each render with the functions that its pipelines call, and may be
	// called concurrently. If it is nil, the session warns of Packages of other functions.
	Used func(functions []string)
	// Progress gets notes about runtimes, and warnings. It may be nil.
	Progress progress.Func
}

// A Session renders XRs. It keeps functions running until it is closed; all
// renders that call a function by the same name share the running function. It
// is safe for concurrent use.
type Session struct {
	config Config
	// once is config.Progress without repeated notes and warnings.
	once progress.Func
	// calls is the Runner for all functions, with the cache if there is one.
	// opened is used to create calls once.
	opened sync.Once
	calls  function.Runner
	// container is the runtime for images. If it is Auto, noContainer is the
	// reason why no runtime is available. containers is used to set both once.
	containers  sync.Once
	container   Runtime
	noContainer error
	// compositions and listings cache decoded documents, which thousands of renders share.
	compositions proc.Memo[string, checked]
	listings     proc.Memo[string, listing]
	// xrds caches decoded XRDs.
	xrds proc.Memo[xrdKey, *decodedXRD]
	// fields caches the problems that checkFields finds.
	fields proc.Memo[fieldsKey, []composition.Problem]
	// faults caches what checkGiven finds.
	faults proc.Memo[givenKey, []error]
	// officials and silent cache the results of official and silentProblems.
	officials proc.Memo[string, string]
	silent    proc.Memo[silentKey, []composition.Problem]
	// reads caches the fields of composite resources that patches read.
	reads proc.Memo[*apiextv1.Composition, check.Reads]

	mu      sync.Mutex
	closed  bool
	running map[string]*started
}

// A Run describes how a function was run.
type Run struct {
	// Package is the package that ran. It may differ from spec.package of the Function.
	Function, Package string
	// Detail describes to users how Runtime ran the function.
	Runtime     Runtime
	Detail      string
	Annotations map[string]string
	// Inputs are the inputs that the package of the function defines, if the runtime reads it.
	Inputs composition.Inputs
}

// A Result is the output of the render of one XR or Operation, with its inputs.
type Result struct {
	// N is the unique number of the XR. Source is the position of the XR as "path:line".
	// For a nested XR, the names of the composed resources that lead to it follow.
	N      int
	Source string
	// Document is the XR, or the claim from which the XR was created. It is empty
	// for a nested XR.
	Document manifest.Document
	// Result is nil if Err is not nil.
	*LastPass
	// Composition is the Composition of the XR. It is empty if it could not be loaded, and in
	// profile Alpha.
	Composition composition.Entry
	// Observed are the composed resources that the functions observed. Missing are the
	// resources that the XR's resourceRefs name and Inputs.Observed lacks, if Inputs.Live is set.
	Observed []*unstructured.Unstructured
	Missing  []Reference
	// Definitions are the kinds that Inputs.Observed and Inputs.Compositions define, if
	// Inputs.Live is set.
	Definitions schema.Definitions
	// Invalid are warnings about the XR: the reasons why an API server would refuse it, if
	// Inputs.Invalid is WarnInvalid, and what the API server would change.
	Invalid []string
	// Functions describe how the functions of the pipeline were run. Functions in
	// Config.Runners are not included.
	Functions []Run
	// Text and TextErr are what Inputs.Encode returned.
	Text    []byte
	TextErr error
	// Err is the error of the render. For a fatal result of a function, it wraps a
	// *render.FatalError.
	Err error
}

// RuntimeOf returns the Runtime that ran a function, or "" if it is unknown.
func (r Result) RuntimeOf(function string) string {
	i := slices.IndexFunc(r.Functions, func(run Run) bool { return run.Function == function })
	if i < 0 {
		return ""
	}
	return string(r.Functions[i].Runtime)
}

// Open returns a session. It starts no functions.
func Open(config Config) *Session {
	return &Session{config: config, once: config.Progress.Once(), running: map[string]*started{}}
}

// open creates s.calls, with the cache if it is enabled.
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
		Dir: c.Cache, MaxTTL: c.CacheMaxTTL, Now: c.Now, Progress: c.Progress,
		Identity: func(name string) string {
			if instance, ok := s.instance(name); ok && c.Runners[name] == nil {
				return instance.Identity
			}
			return ""
		},
	})
}

// Render loads the inputs, starts the functions of the pipeline that are not running, and
// renders each XR, or the Operation. It calls each with one Result at a time, in the order of
// the XRs, while later XRs are rendered. An error of one XR is in its Result. Render returns
// errors that affect all XRs, and the error of each, after which it stops.
func (s *Session) Render(ctx context.Context, in Inputs, each func(Result) error) error {
	if in.Operation != "" {
		return s.renderOperation(ctx, in, each)
	}
	version, err := reconciler.VersionOf(string(in.Profile))
	if err != nil {
		return err
	}
	docs, err := s.xrs(ctx, in, version.EmptyXR)
	if err != nil {
		return err
	}
	if in.Profile == render.Alpha {
		return s.renderAlpha(ctx, docs, in, version, each)
	}
	if in.LiteralDeletion {
		return fmt.Errorf("literal deletion is only supported for profile %s", render.Alpha)
	}
	if len(in.Compositions) > 0 || in.Live {
		return s.renderNested(ctx, docs, newPlan(in, version), each)
	}
	p, err := proc.Await(ctx, func() (plan, error) { return s.load(ctx, newPlan(in, version), docs) })
	if err != nil {
		return err
	}
	s.warnUnused(p.entry)
	l, err := s.pipeline(ctx, p)
	if err != nil {
		return err
	}
	return in.renderEach(ctx, docs, func(ctx context.Context, n int, doc manifest.Document) []Result {
		r := Result{N: n, Source: doc.Position(), Document: doc, Composition: p.entry, Functions: l.runs}
		a, err := p.admitted(ctx, doc)
		if r.Invalid = a.invalid; err == nil {
			r.LastPass, err = s.output(ctx, l, n, a.req)
			err = explainName(err, a.req.XR.GetName(), doc)
		}
		if r.Err = err; err == nil {
			r.Observed = a.req.Observed
		}
		return []Result{r}
	}, each)
}

// renderEach renders documents and encodes the results concurrently, and calls each with the
// results in the order of the documents.
func (in Inputs) renderEach(ctx context.Context, docs []manifest.Document, render func(context.Context, int, manifest.Document) []Result, each func(Result) error) error {
	return proc.ForEachOrdered(ctx, runtime.GOMAXPROCS(0), docs, func(ctx context.Context, n int, doc manifest.Document) []Result {
		leave := proc.EnterActivity(ctx, "rendering "+doc.Position())
		results := render(ctx, n, doc)
		leave()
		for i := range results {
			if r := &results[i]; in.Encode != nil && r.Err == nil {
				r.Text, r.TextErr = in.Encode(*r)
			}
		}
		return results
	}, func(results []Result) error {
		for _, r := range results {
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// A pipeline is a plan whose functions run. runner calls them.
type pipeline struct {
	plan
	runner function.Runner
	runs   []Run
}

// pipeline starts the functions of the Composition or Operation in p, and checks their inputs.
func (s *Session) pipeline(ctx context.Context, p plan) (l pipeline, err error) {
	l = pipeline{plan: p, runner: function.RunnerFunc(s.call)}
	if s.config.Replay == nil {
		if l.runs, err = s.chosen(ctx, p); err != nil {
			return l, err
		}
		s.opened.Do(func() { s.open(ctx) })
		l.runner = s.calls
	}
	if s.config.Wrap != nil {
		l.runner = s.config.Wrap(l.runner)
	}
	l.runner = answering(p.in.Steps, l.runner)
	return l, s.checkInputs(ctx, p, l.runs)
}

// output renders the XR with the number n, and adds warnings to the output. The LastPass is nil if there
// is an error.
func (s *Session) output(ctx context.Context, l pipeline, n int, req render.Request) (*LastPass, error) {
	r, err := l.render(composition.WithEntry(ctx, l.entry), l.in.WrapRunner(n, l.runner), req)
	l.warnOutput(ctx, r)
	s.describe(ctx, l.entry, req.Observed, r)
	return r, s.explain(ctx, err, req.XR.GetName(), l.entry)
}

// chosen chooses the runtimes of a Composition's functions and starts the functions. If it cannot,
// it returns a *StartError.
func (s *Session) chosen(ctx context.Context, p plan) (runs []Run, err error) {
	defer func() {
		if err != nil {
			err = &StartError{err}
		}
	}()
	if p.in.Starting != nil {
		defer p.in.Starting()()
	}
	choices, err := s.choose(ctx, functionNames(p.in.Steps, p.entry), p.functions.byName)
	if err != nil {
		return nil, err
	}
	if s.config.ExplainBuiltins {
		s.noteChoices(p, choices)
	}
	return s.start(ctx, choices, capabilityOf(p.entry), p.in.Strict)
}

// match returns an error if the Composition cannot compose the XR in doc. The hint names the
// line of the field to change.
func (p plan) match(doc manifest.Document, xr *unstructured.Unstructured) error {
	err := composition.Match(p.request.Composition, xr, p.version.Selector...)
	if err == nil {
		return nil
	}
	ref := p.request.Composition.Spec.CompositeTypeRef
	switch "" {
	case ref.APIVersion:
		return missingReference(p.entry.Document, "apiVersion")
	case ref.Kind:
		return missingReference(p.entry.Document, "kind")
	}
	field, got, want := "kind", xr.GetKind(), ref.Kind
	if got == want {
		field, got, want = "apiVersion", xr.GetAPIVersion(), ref.APIVersion
	}
	if err := CheckXR(doc, xr.Object); err != nil {
		return err
	}
	at, other := doc.PositionOf(field), p.entry.Document.PositionOf("spec.compositeTypeRef."+field)
	switch {
	case got == want: // The labels differ.
		return fmt.Errorf("%s: %w", p.entry.Document.Path, err)
	case got == "":
		return hint.Wrap(fmt.Errorf("loading the composite resource: %s: %s is missing", at, field), fmt.Sprintf("add %q", field+": "+want))
	}
	err = fmt.Errorf("%s: %w", other, err)
	if p.xrd != nil && p.xrd.Offers(xr.GroupVersionKind()) {
		next := fmt.Sprintf("%s is the kind of claims (%s): name the directory of this XRD and its Composition with ", at, p.xrd.doc.PositionOf("spec.claimNames"))
		return hint.Wrap(err, next+string(hint.Compositions))
	}
	if near := hint.Nearest(got, []string{want}); field == "kind" && (near == "" || want == "X"+got) {
		return hint.Wrap(err, fmt.Sprintf("set %q at %s; or, if this is a claim, name the directory of its XRD and Composition with ", "kind: "+want, at)+string(hint.Compositions))
	}
	if hint.Nearest(got, []string{want}) != "" { // Either file can have the mistake.
		return hint.Wrap(err, fmt.Sprintf("did you mean %q at %s, or %q at %s?", field+": "+want, at, field+": "+got, other))
	}
	return hint.Wrap(err, fmt.Sprintf("set %q at %s, or use a Composition for this %s", field+": "+want, at, field))
}

// missingReference returns the error for a Composition without a field of its compositeTypeRef.
// The hint names a misspelled field.
func missingReference(doc manifest.Document, field string) error {
	obj, err := doc.Object()
	if err != nil {
		return err
	}
	spec, _ := obj["spec"].(map[string]any)
	path, in, missing := "spec", spec, "compositeTypeRef"
	if ref, ok := spec[missing].(map[string]any); ok {
		path, in, missing = path+"."+missing, ref, field
	}
	next := fmt.Sprintf("add %s, with the kind of the composite resources", missing)
	if wrong := hint.Nearest(missing, slices.Sorted(maps.Keys(in))); wrong != "" {
		next = fmt.Sprintf("did you mean %s at %s?", missing, doc.PositionOf(path+"."+wrong))
	}
	return hint.Wrap(fmt.Errorf("loading the Composition: %s: %s.%s is missing", doc.PositionOf(path), path, missing), hint.Hint(next))
}
