package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// start starts the functions that are not running, concurrently, and waits until they run.
// If one fails, it cancels the other starts, unless another render waits for them.
// If a package lacks the capability, start warns or, if strict is true, fails.
func (s *Session) start(ctx context.Context, choices []choice, needed capability, strict bool) ([]Run, error) {
	if err := s.prepare(ctx, choices); err != nil {
		return nil, s.advisePull(err, choices)
	}
	entries, isNew, err := s.enter(ctx, choices)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if isNew[i] {
			s.warnAnnotations(e.choice.fn)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, e := range entries {
		g.Go(func() error { return s.wait(gctx, e) })
	}
	if err := g.Wait(); err != nil {
		return nil, s.advisePull(err, choices)
	}
	var errs []error
	runs := make([]Run, len(entries))
	for i, e := range entries {
		fn := e.choice.fn
		runs[i] = Run{Function: fn.Name, Package: fn.Package, Runtime: e.choice.runtime, Detail: e.instance.Detail, Annotations: fn.Annotations, Inputs: e.inputs()}
		if isNew[i] {
			s.noteRun(runs[i])
		}
		if err := needed.check(fn.Name, e.instance.Capabilities); err != nil && (strict || isNew[i]) {
			errs = append(errs, s.refuseOrWarn(err, strict))
		}
	}
	return runs, errors.Join(errs...)
}

// A capability is what a function must be able to do for a kind of document that calls it.
type capability struct{ name, callers string }

func capabilityOf(e composition.Entry) capability {
	if e.What() == apiextv1.CompositionKind {
		return capability{pkgmetav1.FunctionCapabilityComposition, "Compositions"}
	}
	return capability{pkgmetav1.FunctionCapabilityOperation, "Operations"}
}

// check returns an error if the package of a function has capabilities, but not this one.
// Crossplane assumes that a package without capabilities has the capability for
// Compositions. Whether such a package has the capability for Operations is unknown.
func (c capability) check(function string, all []string) error {
	if len(all) == 0 || pkgmetav1.CapabilitiesContainFuzzyMatch(all, c.name) {
		return nil
	}
	return fmt.Errorf("function %q: spec.capabilities of its package has no %q, so Crossplane refuses %s that call the function; it has %q",
		function, c.name, c.callers, all)
}

func (s *Session) noteRun(r Run) {
	s.config.Progress.Note(fmt.Sprintf("%s: %s, %s", r.Function, r.Runtime, r.Detail))
}

// warnAnnotations warns of annotations for renders that no runtime has. A runtime that this
// system lacks may have others.
func (s *Session) warnAnnotations(fn runtimes.Function) {
	const prefix = "render.crossplane.io/"
	known := []string{"runtime"}
	for _, name := range builtin.Annotations() {
		known = append(known, strings.TrimPrefix(name, prefix))
	}
	for _, r := range s.config.Runtimes {
		if a, ok := r.(runtimes.Annotated); ok {
			for _, name := range a.Annotations() {
				known = append(known, strings.TrimPrefix(name, prefix))
			}
		}
	}
	slices.Sort(known)
	for _, key := range slices.Sorted(maps.Keys(fn.Annotations)) {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || slices.Contains(known, name) || s.config.Runtimes[Sandbox] == nil && strings.HasPrefix(name, "runtime-sandbox-") {
			continue
		}
		text := fmt.Sprintf("function %q: unknown annotation %s, which has no effect", fn.Name, key)
		if near := hint.Nearest(name, known); near != "" {
			text += hint.DidYouMean(prefix + near)
		}
		s.config.Progress.Warn(text)
	}
}

// prepare lets the runtimes fetch packages for the functions that are not running.
func (s *Session) prepare(ctx context.Context, choices []choice) error {
	needed := map[Runtime][]runtimes.Function{}
	for _, c := range choices {
		if _, runs := s.instance(c.fn.Name); !runs {
			needed[c.runtime] = append(needed[c.runtime], c.fn)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(needed)) {
		if err := runtimes.Prepare(ctx, s.config.Runtimes[r], needed[r]...); err != nil {
			return err
		}
	}
	return nil
}

// enter returns the started functions for choices, which all renders of the session
// share. It begins the start of a function that is not in the session, and sets isNew
// to true for it. A function that failed to start is not started again. A function
// whose start was canceled is started again.
func (s *Session) enter(ctx context.Context, choices []choice) (entries []*started, isNew []bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errors.New("the session is closed")
	}
	for _, c := range choices {
		e, ok := s.running[c.fn.Name]
		if !ok {
			ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
			e = &started{choice: c, cancel: cancel, built: make(chan struct{}), done: make(chan struct{})}
			ctx = runtimes.OnBuilt(ctx, sync.OnceFunc(func() { close(e.built) }))
			s.running[c.fn.Name] = e
			go func() {
				defer close(e.done)
				e.instance, e.err = s.startOne(ctx, e)
				e.inputs = sync.OnceValue(func() composition.Inputs { return composition.InputsOf(c.fn.Name, e.instance.Inputs...) })
			}()
		}
		e.waiting++
		entries, isNew = append(entries, e), append(isNew, !ok)
	}
	return entries, isNew, nil
}

// wait waits until the function runs or has failed to start. If ctx is done
// first, wait cancels the start, unless another render waits for the function.
// The clock of ctx does not run while a function is built from source.
func (s *Session) wait(ctx context.Context, e *started) error {
	if !e.isDone() && runtimes.IsSource(e.choice.fn.Package) {
		resume := proc.Pause(ctx)
		select {
		case <-e.built:
		case <-e.done:
		case <-ctx.Done():
		}
		resume()
	}
	select {
	case <-e.done:
	case <-ctx.Done():
	}
	var ended error
	if s.isLast(e) {
		e.cancel(context.Cause(ctx))
		if <-e.done; e.err != nil {
			return e.err
		}
		// The function started before the cancellation took effect. It is stopped,
		// because no other render uses it.
		ended = e.end(context.WithoutCancel(ctx))
	} else if e.isDone() {
		return e.err
	}
	return errors.Join(fmt.Errorf("starting function %q: %w", e.choice.fn.Name, context.Cause(ctx)), ended)
}

// isLast reports whether the caller is the last render that waits for a
// function whose start is not done. If so, isLast removes the function, so that
// a later render starts it again.
func (s *Session) isLast(e *started) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.waiting--; e.waiting > 0 || e.isDone() {
		return false
	}
	if s.running[e.choice.fn.Name] == e {
		delete(s.running, e.choice.fn.Name)
	}
	return true
}

func (s *Session) startOne(ctx context.Context, e *started) (_ *runtimes.Instance, err error) {
	c, options := e.choice, s.config.BuiltinOptions
	options.Package, options.GoTemplating.Source, options.Annotated = c.replaced, c.templates, c.annotated
	if c.builtin.Name != "" {
		if e.inProcess, err = c.builtin.Configured(options); err != nil {
			return nil, fmt.Errorf("starting function %q: %w", c.fn.Name, err)
		}
	}
	if c.runtime == Builtin {
		return s.startBuiltin(c, options, e.inProcess), nil
	}
	rt, ok := s.config.Runtimes[c.runtime]
	if !ok {
		return nil, fmt.Errorf("starting function %q: runtime %s is not available on this system", c.fn.Name, c.runtime)
	}
	s.config.Progress.Step("starting " + c.fn.Name)
	instance, err := rt.Start(ctx, c.fn)
	if err != nil || e.inProcess == nil {
		return instance, err
	}
	instance.Runner = intercept.Crosscheck(
		intercept.Side{Name: "the builtin", Runner: e.inProcess},
		intercept.Side{Name: "the runtime " + string(c.runtime), Runner: instance.Runner},
	)
	instance.Detail += ", checked against the builtin " + c.builtin.Name
	instance.Identity = ""
	return instance, nil
}

// advisePull adds ways to run functions without a registry to the hint of err, if err says
// that a package of choices cannot be pulled.
func (s *Session) advisePull(err error, choices []choice) error {
	failed := remote.Explained(err)
	if !failed && !errors.As(err, new(*image.MissingError)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	next := []hint.Hint{hint.Of(err)}
	if failed {
		next = append(next, "use only images in the cache with "+hint.Offline)
	}
	pulled := slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.runtime == Builtin || lock.IsPath(c.fn.Package) })
	anyName := builtin.Policy{Mode: builtin.Any}
	if slices.ContainsFunc(pulled, func(c choice) bool {
		_, ok := anyName.For(c.fn.Package)
		// A function of the user that only has the name of a builtin usually has another version.
		return ok && (anyName.Official(c.fn.Package) != "" || anyName.Replaces(c.fn.Package, ""))
	}) {
		way := "run the builtin of this name with " + hint.Builtins + "=any"
		chosen := hint.Runtime + " " + hint.Hint(s.config.Runtime)
		switch {
		case s.config.Builtins.Mode == builtin.Any:
			way = "leave out " + chosen + ", which does not run the builtin of this name"
		case s.config.Runtime != Auto:
			way += ", without " + chosen
		}
		next = append(next, way)
	}
	own := slices.DeleteFunc(pulled, func(c choice) bool { return strings.Contains(c.fn.Package, "/crossplane-contrib/") })
	if len(own) > 0 {
		name, dir := "NAME", "DIRECTORY"
		here := runtimes.SourceMetadata(".").Name
		_, source, unknown := languages.Find(".")
		if unknown == nil && slices.ContainsFunc(own, func(c choice) bool { return c.fn.Name == here }) {
			name, dir = here, source
		}
		next = append(next, hint.Hint(fmt.Sprintf("run your own function from source with %s %s=%s", hint.Package, name, dir)))
	}
	return hint.Wrap(err, hint.Or(next...))
}

func (s *Session) startBuiltin(c choice, options builtin.Options, r function.Runner) *runtimes.Instance {
	b := c.builtin
	if err := b.CheckVersion(c.replaced); err != nil {
		at := ""
		if c.fn.PackagePosition != "" {
			at = c.fn.PackagePosition + ": "
		}
		s.config.Progress.Warn(fmt.Sprintf("%sfunction %q: %v, with which it was not compared: fields and output may differ, so name one of these versions, or switch builtins off to run this one", at, c.fn.Name, err))
	}
	instance := &runtimes.Instance{
		Runner: r,
		Detail: "measured against " + b.Name + " " + b.Measured,
		Stop:   func(context.Context) error { return nil },
	}
	if strings.HasPrefix(c.replaced, builtin.Mirror) {
		instance.Detail += ", because " + strings.TrimSuffix(builtin.Mirror, "/") + " is a mirror of crossplane-contrib"
	}
	if !b.ReadsFiles {
		instance.Identity = fmt.Sprintf("builtin %s %s for %q with %v, %v", b.Name, b.Measured, c.replaced, options.Annotated, options.Settings)
	}
	return instance
}

// call calls one of Config.Runners, Config.Replay, or a function that is running.
func (s *Session) call(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if r, ok := s.config.Runners[name]; ok {
		return r.RunFunction(ctx, name, req)
	}
	if s.config.Replay != nil {
		return s.config.Replay.RunFunction(ctx, name, req)
	}
	instance, ok := s.instance(name)
	if !ok {
		return nil, fmt.Errorf("function %q is not running", name)
	}
	return instance.RunFunction(ctx, name, req)
}

func (s *Session) instance(name string) (*runtimes.Instance, bool) {
	s.mu.Lock()
	e := s.running[name]
	s.mu.Unlock()
	if e == nil || !e.isDone() || e.err != nil {
		return nil, false
	}
	return e.instance, true
}

// Close cancels all starts and stops all functions, concurrently. ctx limits how long Close
// waits, so callers should not pass a context that is done. A closed session cannot render.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	entries := slices.Collect(maps.Values(s.running))
	s.closed = true
	clear(s.running)
	s.mu.Unlock()
	errs := make([]error, len(entries))
	proc.Each(len(entries), len(entries), func(i int) { errs[i] = entries[i].stop(ctx) })
	return errors.Join(errs...)
}

// A StartError means that a function of the pipeline could not be started, so that nothing was
// rendered. It has the text of Err.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }
