package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/render"
)

// An InvalidPolicy says what happens to composite resources and claims that an API server
// with their XRDs would refuse.
type InvalidPolicy int

const (
	// WarnInvalid renders them. The reasons are in Result.Invalid.
	WarnInvalid InvalidPolicy = iota
	// RefuseInvalid does not render them. The reasons are the error.
	RefuseInvalid
	// AllowInvalid renders them without validation.
	AllowInvalid
)

// xrValidator returns the Validator for the composite resources and claims that the XRDs in
// docs define, or nil if there are no XRDs. failed has an error for each XRD from which
// Crossplane can generate no CRD.
func xrValidator(docs []manifest.Document, release schema.Release) (v *validate.Validator, failed []error) {
	var all []inspect.CRD
	for _, doc := range docs {
		if obj, err := doc.Object(); err != nil || !crd.IsXRD(obj) {
			continue
		}
		some, err := inspect.CRDsOf([]manifest.Document{doc})
		if err != nil {
			failed = append(failed, err)
		}
		all = append(all, some...)
	}
	if len(all) > 0 {
		v = inspect.NewValidator(all, validate.Options{Namespace: validate.DefaultNamespace, Crossplane: release})
	}
	return v, failed
}

func (in Inputs) validatesXRs() bool { return in.Invalid != AllowInvalid && !in.Live }

// validateXRs sets p.validator to v. Of failed, the errors of xrValidator, it returns the first
// if p.in.Invalid is RefuseInvalid, and otherwise warns.
func (s *Session) validateXRs(p *plan, v *validate.Validator, failed []error) error {
	for _, err := range failed {
		if p.in.Invalid == RefuseInvalid {
			return fmt.Errorf("loading the XRD: %w", err)
		}
		s.config.Progress.Warn(err.Error() + "; resources that this XRD defines are not validated")
	}
	p.validator = v
	return nil
}

// CheckXR returns an error if obj, the object in doc, cannot be a composite resource, because it is
// of a kind of Kubernetes or Crossplane, or has fields of other types.
func CheckXR(doc manifest.Document, obj map[string]any) error {
	if err := checkTypes(doc, obj); err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: obj}
	if !schema.HasNoXRs(u.GroupVersionKind().GroupVersion()) {
		return nil
	}
	err := doc.ErrorOf("kind", fmt.Errorf("expected a composite resource, got %s", composition.Describe(u)))
	if u.IsList() {
		return hint.Wrap(err, "this is a list, as kubectl get writes it: write one composite resource to a file of its own, with kubectl get KIND NAME -o yaml")
	}
	return hint.Wrap(err, "name the file of an object whose kind an XRD defines")
}

// checkTypes returns an error about the types of the fields of obj, the composite resource in doc.
func checkTypes(doc manifest.Document, obj map[string]any) error {
	if err := checkKind(doc, obj); err != nil {
		return err
	}
	for _, field := range []string{"metadata", "spec"} {
		if _, ok := obj[field].(map[string]any); !ok && obj[field] != nil {
			err := fmt.Errorf("%s must be an object, not %s", field, manifest.DescribeValue(obj[field]))
			next, line := manifest.MeantObject(obj[field]), doc.Lines().Of(field)
			if next != "" {
				line = doc.Lines().OfText(field, 1)
			}
			return &manifest.Error{Path: doc.Path, Line: line, Err: hint.Wrap(err, next)}
		}
	}
	return nil
}

// An admission is the request for an XR, and the reasons why an API server would refuse the XR.
type admission struct {
	req     render.Request
	invalid []string
}

// admitted returns the admission of the XR in doc. It is not nil, also if there is an error.
func (p plan) admitted(ctx context.Context, doc manifest.Document) (*admission, error) {
	if p.admission != nil {
		return p.admission, nil
	}
	xr, err := decodeXR(doc)
	if err != nil {
		return &admission{}, err
	}
	return p.admit(ctx, doc, xr)
}

// admit returns the request for xr, the XR in doc, as forXR does, and validates the XR.
func (p plan) admit(ctx context.Context, doc manifest.Document, xr original) (a *admission, err error) {
	a = &admission{}
	if a.req, err = p.forXR(doc, xr); err == nil {
		a.invalid, err = p.validate(ctx, doc, xr, a.req.XR)
	}
	return a, err
}

// validate validates from, the composite resource or claim in doc. xr is from with the defaults
// of the XRD. validate returns the reasons why an API server would refuse it, as p.in.Invalid
// says, and warnings about fields that an API server removes.
func (p plan) validate(ctx context.Context, doc manifest.Document, from original, xr *unstructured.Unstructured) (invalid []string, err error) {
	switch {
	case doc.Text == nil || !p.in.validatesXRs():
		return nil, nil
	case p.validator == nil:
		return p.refuseOrReport(slices.Concat(unknownRoots(doc, xr.Object), metadataErrors(doc, from.obj, "composite resource"), p.ownedErrors(ctx, doc, from.obj)))
	}
	invalid, err = p.refusals(doc.Position(), p.validator.Decoded(ctx, doc, from.copy().Object, from.duplicate))
	for _, at := range doc.BooleanKeys() {
		invalid = append(invalid, at.Error())
	}
	if p.xrd == nil || p.xrd.Defines(xr.GroupVersionKind()) != nil {
		return invalid, err
	}
	for _, f := range p.xrd.Removed(xr.Object) {
		invalid = append(invalid, fmt.Sprintf("%s: an API server removes %s: %s", doc.PositionOf(f.Field), f.Field, f.Text))
	}
	return invalid, err
}

// validateComposed validates u, a composite resource or claim that parent composes, as validate
// does. at is the position of u.
func (p plan) validateComposed(ctx context.Context, at string, parent, u *unstructured.Unstructured) (invalid []string, err error) {
	if p.validator == nil {
		return nil, nil
	}
	u = &unstructured.Unstructured{Object: schema.Copy(u.Object)}
	// The API server drops a status when it creates u.
	unstructured.RemoveNestedField(u.Object, "status")
	return p.refusals(at, p.validator.ComposedBy(parent.Object).Objects(ctx, u.Object))
}

// refusals returns the errors of an API server in the results of one object, in the form of
// refuseOrReport. at is the position of the object if the results have none.
func (p plan) refusals(at string, results []validate.Result) (invalid []string, err error) {
	var all []error
	for _, r := range results {
		all = append(all, r.Refusals(at)...)
	}
	return p.refuseOrReport(all)
}

// refuseOrReport returns errors about composite resources as err if p.in.Invalid is
// RefuseInvalid, and otherwise as texts.
func (p plan) refuseOrReport(all []error) (invalid []string, err error) {
	if p.in.Invalid == RefuseInvalid {
		return nil, errors.Join(all...)
	}
	for _, one := range all {
		invalid = append(invalid, one.Error())
	}
	return invalid, nil
}
