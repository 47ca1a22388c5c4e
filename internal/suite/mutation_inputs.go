package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/suite/generate"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// generateInputs adds cases with generated composite resources to a subject, and sets its digest.
// The Composition itself must be able to render them. The first case that has an XRD supplies the
// other inputs; without such a case there are none.
func (r *runner) generateInputs(ctx context.Context, s *subject, m MutationOptions) error {
	for _, c := range s.cases {
		mine := *c.item.Case // Spec changes a case.
		form, err := mine.Spec()
		if err != nil {
			return err
		}
		if m.Inputs == 0 || !isSet(form.XRD) || form.Expect.Fatal != nil || form.Expect.Error != nil {
			continue
		}
		a := &attempt{runner: r, item: c.item, form: form, out: &Outcome{}}
		if err := a.generate(ctx, s, c, m); err != nil {
			return err
		}
		break
	}
	var err error
	s.digest, err = s.sum()
	return err
}

func (a *attempt) generate(ctx context.Context, s *subject, c caseOutput, m MutationOptions) error {
	docs, err := a.documents(ctx, []spec.Source{a.form.XRD}, "xrd")
	if err != nil {
		return err
	}
	xrd, err := onlyXRD(docs, a.form.XRD.File)
	if err != nil {
		return err
	}
	definition, err := xrd.Object()
	if err != nil {
		return err
	}
	composition, err := s.doc.Object()
	if err != nil {
		return err
	}
	g, err := generate.New(ctx, xrd, fieldpath.Text(composition, "spec", "compositeTypeRef", "apiVersion"), m.Seed)
	if err != nil {
		return err
	}
	for n := range m.Inputs {
		xr, err := g.XR(ctx, n)
		if errors.Is(err, generate.ErrNone) {
			a.options.Config.Progress.Warn("mutants are not tried with generated inputs: " + err.Error())
			return nil
		}
		if err != nil {
			return err
		}
		item := c.item
		item.fuzz = &fuzzInput{xr: xr, xrd: definition}
		if got := a.runner.run(ctx, item); got.Status != Failed {
			s.generated = append(s.generated, caseOutput{item, got.composed(), c.mocks})
		}
	}
	return nil
}

// sum returns a digest of all that the verdicts about mutants depend on.
func (s *subject) sum() (string, error) {
	h := sha256.New()
	h.Write(s.doc.Text)
	encoder := json.NewEncoder(h)
	for _, c := range append(s.cases[:len(s.cases):len(s.cases)], s.generated...) {
		mine := *c.item.Case // Fields changes a case.
		fields, err := mine.Fields()
		if err == nil {
			err = encoder.Encode([]any{c.item.Name(), fields, c.docs})
		}
		if err != nil {
			return "", fmt.Errorf("computing the digest of the case %s: %w", c.item.Name(), err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
