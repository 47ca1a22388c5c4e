package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A fieldsKey has the keys of a Composition and of an XRD, and the release of Crossplane whose
// fields the XRD has.
type fieldsKey struct {
	composition, xrd string
	release          schema.Release
}

// checkFields checks that the fields of composite resources in the Composition's patches exist in
// the XRD of p, and reports those that do not.
func (s *Session) checkFields(ctx context.Context, p plan, strict bool) error {
	key := fieldsKey{p.entry.Document.Key(), p.xrdDocument.Key(), Release(p.in.Profile)}
	found, err := s.fields.Do(key, func() ([]composition.Problem, error) { return fieldProblems(ctx, p.entry, *p.xrd), nil })
	return errors.Join(err, s.reportProblems(found, strict))
}

// fieldProblems returns the fields of composite resources in the Composition's patches that the XRD
// lacks.
func fieldProblems(ctx context.Context, e composition.Entry, xrd schema.XRD) []composition.Problem {
	def, err := xrd.Definition()
	if err != nil || xrd.Complete() != nil {
		return nil // Loading the XRD reports it.
	}
	return check.Fields(ctx, e, builtin.Inputs(), def)
}

// reportProblems returns the problems if strict is true, and otherwise warns of them.
func (s *Session) reportProblems(found []composition.Problem, strict bool) (err error) {
	for _, p := range found {
		err = errors.Join(err, s.refuseOrWarn(p, strict))
	}
	return err
}

// refuseOrWarn returns err if strict is true, and otherwise warns of it.
func (s *Session) refuseOrWarn(err error, strict bool) error {
	if !strict {
		s.config.Progress.Warn(err.Error())
		return nil
	}
	return err
}

// noteMisread notes the fields that patches read, and that the composite resource in doc has under
// a similar name.
func (s *Session) noteMisread(ctx context.Context, p plan, doc manifest.Document) {
	xr, err := p.original(doc)
	if err != nil {
		return
	}
	for _, problem := range s.readsOf(ctx, p.entry).Misread(p.entry, xr.obj) {
		s.config.Progress.Note(problem.Error())
	}
}

// unknownRoots returns an error for each field of a composite resource that no XRD can define.
func unknownRoots(doc manifest.Document, xr map[string]any) (errs []error) {
	roots := schema.RootFields()
	for _, name := range slices.Sorted(maps.Keys(xr)) {
		if slices.Contains(roots, name) {
			continue
		}
		text := fmt.Sprintf("a composite resource has no field %s, which an API server drops", name)
		errs = append(errs, &manifest.Error{Path: doc.Path, Line: doc.Lines().Of(name), Err: errors.New(text + hint.DidYouMean(hint.Nearest(name, roots)))})
	}
	return errs
}
