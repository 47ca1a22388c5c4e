package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// A fieldsKey has a Composition and an XRD, as other caches of the session have them.
type fieldsKey struct {
	composition *apiextv1.Composition
	xrd         *decodedXRD
}

// checkFields checks that the fields of composite resources in the Composition's patches exist in
// the XRD of p, and reports fields that do not exist.
func (s *Session) checkFields(ctx context.Context, p plan) error {
	if p.xrd == nil || check.ModeFor(p.in.Features) == check.NoSchemas {
		return nil
	}
	found := s.fields.Get(fieldsKey{p.entry.Composition, p.xrd}, func() []composition.Problem {
		def, err := p.xrd.Definition()
		if err != nil || p.xrd.Complete() != nil {
			return nil // Loading the XRD reports it.
		}
		return check.Fields(ctx, p.entry, builtin.Inputs(), def)
	})
	return s.reportProblems(found, p.in.Strict)
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

// noteMisread notes the fields that patches read, and that xr has under a similar name.
func (s *Session) noteMisread(ctx context.Context, p plan, xr original) {
	for _, problem := range s.readsOf(ctx, p.entry).Misread(p.entry, xr.obj) {
		s.config.Progress.Note(problem.Error())
	}
}

// unknownRoots returns an error for each field of a composite resource that no XRD can define.
func unknownRoots(doc manifest.Document, xr map[string]any) (errs []error) {
	roots := schema.RootFields()
	for _, name := range manifest.Keys(xr) {
		if slices.Contains(roots, name) {
			continue
		}
		text := fmt.Sprintf("a composite resource has no field %s, which an API server drops", name)
		errs = append(errs, doc.ErrorOf(name, errors.New(text+hint.DidYouMean(hint.Nearest(name, roots)))))
	}
	return errs
}

// maxName is the maximum length of the name of a composite resource or claim: it is the value of a label.
const maxName = validation.LabelValueMaxLength

// ownedErrors returns the errors in metadata.name and in spec.crossplane of obj, the composite resource
// in doc. They have the same schema in each CRD that Crossplane derives from an XRD. Deriving one takes
// milliseconds, so it needs a field in spec.crossplane. References to resources are not checked,
// because Crossplane replaces them.
func (p plan) ownedErrors(ctx context.Context, doc manifest.Document, obj map[string]any) (errs []error) {
	xr := unstructured.Unstructured{Object: obj}
	if name := xr.GetName(); len(name) > maxName {
		text := fmt.Sprintf("metadata.name has %d characters, and at most %d are allowed, because Crossplane sets it as a label of each composed resource: shorten it", len(name), maxName)
		errs = append(errs, doc.ErrorOf("metadata.name", errors.New(text)))
	}
	owned, isObject := fieldpath.At(obj, "spec", "crossplane").(map[string]any)
	if owned = maps.Clone(owned); isObject {
		delete(owned, "resourceRefs")
	}
	release, gvk := Release(p.in.Profile), xr.GroupVersionKind()
	if len(owned) == 0 || release.Legacy() {
		return errs
	}
	derived, err := crd.Composites(map[string]any{"apiVersion": "apiextensions.crossplane.io/v2", "kind": xrdKind.Kind, "spec": map[string]any{
		"group": gvk.Group, "scope": "Cluster", "names": map[string]any{"kind": gvk.Kind},
		"versions": []any{map[string]any{"name": gvk.Version, "schema": map[string]any{"openAPIV3Schema": map[string]any{}}}},
	}})
	if err != nil {
		return errs
	}
	def, err := schema.New(derived)
	if err != nil {
		return errs
	}
	found, err := def.Validate(ctx, map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "spec": map[string]any{"crossplane": owned}}, schema.Options{})
	if err != nil {
		return errs
	}
	return append(errs, refusals(doc, found, "composite resource")...)
}

// warnOutput adds warnings of what an API server refuses or drops of an output, because of the XRD:
// fields of the status, and composed resources without a namespace if the XR is cluster-scoped. r may
// be nil.
func (p plan) warnOutput(ctx context.Context, r *LastPass) {
	if p.xrd == nil || r == nil || !p.in.validatesXRs() {
		return
	}
	def, err := p.xrd.Definition()
	if err != nil || p.xrd.Complete() != nil {
		return // Loading the XRD reports it.
	}
	xr := unstructured.Unstructured{Object: r.XR}
	status := map[string]any{"apiVersion": xr.GetAPIVersion(), "kind": xr.GetKind(), "status": r.XR["status"]}
	found, err := def.Validate(ctx, status, schema.Options{})
	if err != nil {
		return
	}
	for _, f := range found {
		if !strings.HasPrefix(f.Field, "status.") {
			continue
		}
		text := fmt.Sprintf("is refused by an API server: %s", f)
		if f.Unknown {
			text = fmt.Sprintf("has the field %s, which %s of %s does not have%s", f.Field, xr.GetKind(), xr.GetAPIVersion(), hint.DidYouMean(f.Nearest))
		}
		r.Warnings = append(r.Warnings, "the composite resource "+text+manifest.At(composition.OutputField(p.entry, "", xr.GetKind(), f.Field)))
	}
	if def.Namespaced {
		return
	}
	for _, obj := range r.Composed {
		u := unstructured.Unstructured{Object: obj}
		if kind, ok := schema.FindKind(u.GroupVersionKind()); ok && kind.Namespaced && u.GetNamespace() == "" {
			at := composition.OutputField(p.entry, reconciler.ResourceName(obj), u.GetKind(), "metadata.namespace")
			r.Warnings = append(r.Warnings, fmt.Sprintf("resource %q has no namespace, but %s is namespaced and the composite resource is not: set metadata.namespace%s", reconciler.ResourceName(obj), u.GetKind(), manifest.At(at)))
		}
	}
}
