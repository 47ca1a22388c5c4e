package session

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/proc/watchdog"
	"github.com/xfn-dev/xfn/internal/session/converge"
	"github.com/xfn-dev/xfn/render"
)

// renderNested is Render where Compositions are chosen from a library, for XRs
// and for those that they compose. Each gives a Result of its own, parents
// before children.
func (s *Session) renderNested(ctx context.Context, docs []manifest.Document, in Inputs, each func(Result) error) error {
	version, err := in.Profile.Version()
	if err != nil {
		return err
	}
	p := newPlan(in, version)
	if in.Live {
		if p.exists, err = s.state(ctx, in.Observed); err != nil {
			return err
		}
	}
	library, err := s.library(ctx, in, p.exists)
	if err != nil {
		return err
	}
	entries := library.Compositions()
	var all []*apiextv1.Composition
	for _, e := range entries {
		all = append(all, e.Composition)
	}
	s.warnUnused(all...)
	if err := checkSteps(in.Steps, all...); err != nil {
		return err
	}
	if err := s.functions(ctx, &p, entries...); err != nil {
		return err
	}
	if err := s.loadState(ctx, &p); err != nil {
		return err
	}
	f := family{session: s, plan: p, library: library, observed: observe(library, p.exists)}
	if in.Live {
		if docs, err = s.live(library, f.observed); err != nil {
			return err
		}
	}
	f.next.Store(int64(len(docs)))
	return proc.ForEachOrdered(ctx, runtime.GOMAXPROCS(0), docs, f.render, func(results []Result) error {
		for _, r := range results {
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// live returns the XRs to render of those that are observed.
func (s *Session) live(library *composition.Library, c census) ([]manifest.Document, error) {
	docs, passed, err := live(library, c)
	for _, p := range passed {
		s.config.Progress.Note("passing over " + p)
	}
	return docs, err
}

// library reads the Compositions and XRDs, the single Composition and XRD
// among them unless they are in the folders, too. What is live has the XRDs of
// its dump.
func (s *Session) library(ctx context.Context, in Inputs, exists state) (*composition.Library, error) {
	var docs []manifest.Document
	for _, path := range in.Compositions {
		some, err := s.config.Reader.All(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("loading Compositions: %w", err)
		}
		docs = append(docs, some...)
	}
	for _, path := range []string{in.Composition, in.XRD} {
		if path == "" || slices.ContainsFunc(docs, func(d manifest.Document) bool { return filepath.Clean(d.Path) == filepath.Clean(path) }) {
			continue
		}
		doc, err := s.first(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("loading Compositions: %w", err)
		}
		docs = append(docs, doc)
	}
	docs, err := definitions(docs)
	if err == nil && in.Live {
		docs, err = exists.addXRDs(docs)
	}
	if err != nil {
		return nil, fmt.Errorf("loading Compositions: %w", err)
	}
	library, err := composition.Load(docs)
	if err != nil {
		return nil, fmt.Errorf("loading Compositions: %w", err)
	}
	for _, ignored := range library.Ignored() {
		s.config.Progress.Note(ignored + " is neither a Composition nor an XRD, and is passed over")
	}
	return library, nil
}

// A family renders XRs with all that they lead to.
type family struct {
	session  *Session
	plan     plan
	library  *composition.Library
	observed census
	// next is the N of the next nested XR; checked are the checks of
	// Compositions by where they stand.
	next    atomic.Int64
	checked proc.Memo[string, struct{}]
}

func (f *family) render(ctx context.Context, n int, doc manifest.Document) []Result {
	defer watchdog.Enter(ctx, "rendering "+doc.Position())()
	var made []Result
	nest := nesting{library: f.library, depth: DefaultDepth, observed: f.observed, render: func(ctx context.Context, s subject) (*render.Result, error) {
		r := Result{N: n, Source: doc.Position(), Observed: s.Observed}
		if len(made) > 0 {
			r.N = int(f.next.Add(1) - 1)
		} else {
			r.Document = doc
		}
		r.Result, r.Functions, r.Err = f.one(ctx, r.N, s)
		r.Err = f.session.advise(r.Err)
		made = append(made, r)
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Result.Result, nil
	}}
	all, err := f.root(ctx, nest, doc)
	for i, r := range all {
		if len(r.Path) > 0 {
			made[i].Source += " " + strings.Join(r.Path, " > ")
		}
		for _, u := range r.Unmatched {
			made[i].Warnings = append(made[i].Warnings, fmt.Sprintf("there is no Composition for composed resource %q, which is a composite resource", u))
		}
	}
	if err == nil {
		return made
	}
	failed := Result{N: n, Source: doc.Position(), Err: err}
	if len(made) == 0 {
		failed.Document = doc
	}
	if last := len(made) - 1; last >= 0 && made[last].Err != nil {
		failed.N, failed.Functions, failed.Document = made[last].N, made[last].Functions, made[last].Document
		made = made[:last]
	} else if last >= 0 {
		failed.N = int(f.next.Add(1) - 1)
	}
	return append(made, failed)
}

func (f *family) root(ctx context.Context, nest nesting, doc manifest.Document) ([]Rendered, error) {
	xr, err := f.plan.decodeXR(doc)
	if err != nil {
		return nil, fmt.Errorf("loading the composite resource: %w", err)
	}
	root, err := nest.root(xr)
	if err != nil {
		return nil, err
	}
	return nest.all(ctx, root)
}

// check checks a Composition, once for all XRs.
func (f *family) check(e composition.Entry) error {
	_, err := f.checked.Do(e.Document.Position(), func() (struct{}, error) {
		return struct{}{}, f.session.checkIntegrity(e, composition.Check(e, nil), f.plan)
	})
	return err
}

// one renders an XR by its Composition, without those that it composes.
func (f *family) one(ctx context.Context, n int, s subject) (*converge.Result, []Run, error) {
	if err := f.check(s.Entry); err != nil {
		return nil, nil, err
	}
	runner, runs, err := f.session.runner(ctx, f.plan, s.Composition)
	if err != nil {
		return nil, nil, err
	}
	req := f.plan.request
	req.XR, req.Composition, req.Legacy, req.Observed = s.XR, s.Composition, s.Legacy, s.Observed
	r, err := f.plan.passes(ctx, f.plan.in.wrapRunner(n, runner), req)
	if err != nil {
		return nil, runs, fmt.Errorf("rendering composite resource %q: %w", s.XR.GetName(), err)
	}
	return r, runs, nil
}
