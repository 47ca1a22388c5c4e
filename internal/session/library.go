package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// renderNested implements Render with a library of Compositions. The XRs that
// an XR composes have their own Results, after that of their parent.
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
	s.warnUnused(entries...)
	if err := checkSteps(in.Steps, entries...); err != nil {
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
	f := family{session: s, plan: p, library: library, depth: DefaultDepth}
	f.render = f.renderOne
	f.next.Store(int64(len(docs)))
	return renderEach(ctx, docs, f.results, each)
}

// library reads the Compositions and XRDs, including the single Composition and
// XRD. With Live, it also has the XRDs of the dump.
func (s *Session) library(ctx context.Context, in Inputs, exists state) (*composition.Library, error) {
	docs, err := s.documents(ctx, "Compositions", in.Compositions)
	if err != nil {
		return nil, err
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
	var library *composition.Library
	docs, err = definitions(docs)
	if err == nil && in.Live {
		docs, err = exists.addXRDs(docs)
	}
	if err == nil {
		library, err = composition.Load(docs)
	}
	if err != nil {
		return nil, fmt.Errorf("loading Compositions: %w", err)
	}
	for _, ignored := range library.Ignored() {
		s.config.Progress.Note(ignored + " is neither a Composition nor an XRD, and is passed over")
	}
	return library, nil
}
