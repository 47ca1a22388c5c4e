package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/session/converge"
	"github.com/xfn-dev/xfn/render"
)

// renderNested implements Render with a library of Compositions, for XRs and
// the XRs that they compose. Each XR has its own Result, parents before
// children.
func (s *Session) renderNested(ctx context.Context, docs []manifest.Document, in Inputs, each func(Result) error) error {
	version, err := reconciler.VersionOf(string(in.Profile))
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
	p.observed = observe(library, p.exists)
	if in.Live {
		if docs, err = s.live(library, p.observed); err != nil {
			return err
		}
	}
	one := engine{session: s, plan: p}
	f := family{plan: p, library: library, depth: DefaultDepth, render: one.render}
	f.next.Store(int64(len(docs)))
	return renderEach(ctx, docs, f.results, each)
}

// live returns the observed XRs to render.
func (s *Session) live(library *composition.Library, c ownerIndex) ([]manifest.Document, error) {
	docs, passed, err := live(library, c)
	for _, p := range passed {
		s.config.Progress.Note("passing over " + p)
	}
	return docs, err
}

// library reads the Compositions and XRDs, including the single Composition and
// XRD unless the folders have them. With Live, it also has the XRDs of the
// dump.
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

// An engine renders single XRs by Compositions of a library.
type engine struct {
	session *Session
	plan    plan
	checked proc.Memo[string, struct{}]
}

func (e *engine) render(ctx context.Context, n int, entry composition.Entry, req render.Request) (*converge.Result, []Run, error) {
	// A Composition is checked once for all XRs.
	_, err := e.checked.Do(entry.Document.Position(), func() (struct{}, error) {
		return struct{}{}, e.session.checkIntegrity(entry, composition.Check(entry, nil), e.plan)
	})
	if err != nil {
		return nil, nil, err
	}
	runner, runs, err := e.session.runner(ctx, e.plan, entry.Composition)
	if err != nil {
		return nil, nil, err
	}
	r, err := e.plan.passes(ctx, e.plan.in.wrapRunner(n, runner), req)
	return r, runs, e.session.advise(err)
}
