package alpha

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// patchAndTransform patches the environment, then renders the templates in order.
// If a template cannot be rendered, it adds an event. If a patch to the XR fails,
// it returns an error.
func (r *reconcile) patchAndTransform(ctx context.Context) error {
	for i := range r.Composition.environment {
		if err := r.patchEnvironment(ctx, &r.Composition.environment[i]); err != nil {
			return fmt.Errorf("cannot apply environment patch at index %d: %w", i, err)
		}
	}
	for i := range r.Composition.templates {
		t := &r.Composition.templates[i]
		c := r.composed(t.name)
		c.template = t
		if c.observed != nil {
			if err := r.patchXR(ctx, t, c.observed); err != nil {
				return fmt.Errorf("cannot render composite resource from composed resource %q (a %s named %s): %w", t.name, c.observed.GetKind(), c.observed.GetName(), err)
			}
		}
		if err := r.render(ctx, t, c); err != nil {
			c.unrendered = err
			r.events = append(r.events, Event{fnio.Warning, fmt.Sprintf("composed resource %q: %s", t.name, err)})
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *reconcile) patchEnvironment(ctx context.Context, p *compiledPatch) error {
	if r.Environment == nil {
		return nil
	}
	switch p.Type {
	case spec.FromCompositeFieldPath, spec.CombineFromComposite:
		return r.patch(ctx, p, r.xr.Object, &r.Environment)
	case spec.ToCompositeFieldPath, spec.CombineToComposite:
		return r.patch(ctx, p, r.Environment, &r.xr.Object)
	default:
		return nil
	}
}

// patchXR applies the patches from an existing resource to the XR.
func (r *reconcile) patchXR(ctx context.Context, t *template, observed *unstructured.Unstructured) error {
	for i := range t.patches {
		p := &t.patches[i]
		if p.Type != spec.ToCompositeFieldPath && p.Type != spec.CombineToComposite {
			continue
		}
		if err := r.patch(ctx, p, observed.Object, &r.xr.Object); err != nil {
			return fmt.Errorf("cannot apply the patch at index %d: %w", i, err)
		}
	}
	return nil
}

// patchComposed applies a patch between the rendered resource and the XR or the
// environment. It skips patches to the XR, which patchXR applies.
func (r *reconcile) patchComposed(ctx context.Context, p *compiledPatch, rendered *unstructured.Unstructured) error {
	switch p.Type {
	case spec.FromCompositeFieldPath, spec.CombineFromComposite:
		return r.patch(ctx, p, r.xr.Object, &rendered.Object)
	case spec.ToCompositeFieldPath, spec.CombineToComposite:
		return nil
	}
	if r.Environment == nil {
		return nil
	}
	switch p.Type {
	case spec.FromEnvironmentFieldPath, spec.CombineFromEnvironment:
		return r.patch(ctx, p, r.Environment, &rendered.Object)
	case spec.ToEnvironmentFieldPath, spec.CombineToEnvironment:
		return r.patch(ctx, p, rendered.Object, &r.Environment)
	default:
		return nil
	}
}

// patch applies a patch. An optional patch does nothing if its source does not
// exist. If a patch fails, the fields that it has already written are kept.
func (r *reconcile) patch(ctx context.Context, p *compiledPatch, from map[string]any, to *map[string]any) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case p.missing != nil:
		return p.missing
	}
	// Settled is true because all values in Fields were decoded from JSON.
	target := patch.Object{Fields: *to, Settled: true}
	err := p.Apply(from, &target, &r.budget)
	*to = target.Fields
	if fieldpath.IsNotFound(err) && p.Policy != spec.FromRequired {
		return nil
	}
	return err
}

// render renders the template of a composed resource. If the resource exists,
// render keeps its name and namespace, and no other fields. After an error,
// c.object is partially rendered.
func (r *reconcile) render(ctx context.Context, t *template, c *composed) error {
	kind, name, namespace := c.object.GetKind(), c.object.GetName(), c.object.GetNamespace()
	base := &unstructured.Unstructured{}
	if err := json.Unmarshal(t.base, base); err != nil {
		return fmt.Errorf("cannot unmarshal base template: %w", err)
	}
	c.object = base
	if kind != "" && base.GetKind() != kind {
		return errors.New("cannot change the kind of an existing composed resource")
	}
	prefix := r.xr.GetLabels()[reconciler.LabelComposite]
	if prefix == "" {
		return errors.New("name prefix is not found in labels")
	}
	base.SetGenerateName(prefix + "-")
	base.SetName(name)
	base.SetNamespace(namespace)
	for i := range t.patches {
		if err := r.patchComposed(ctx, &t.patches[i], base); err != nil {
			return fmt.Errorf("cannot apply the patch at index %d: %w", i, err)
		}
	}
	if err := mark(base, t.name, r.xr); err != nil {
		return err
	}
	if base.GetName() == "" && base.GetGenerateName() != "" {
		r.store.dryRun(base)
	}
	return nil
}

// mark sets the labels, the annotation with the given name, and the XR as controller of a
// composed resource. A label that the XR does not have is set to "".
func mark(u *unstructured.Unstructured, name string, xr *unstructured.Unstructured) error {
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	for _, key := range []string{reconciler.LabelComposite, reconciler.LabelClaimName, reconciler.LabelClaimNamespace} {
		labels[key] = xr.GetLabels()[key]
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[reconciler.AnnotationResourceName] = name
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	if c := metav1.GetControllerOfNoCopy(u); c != nil && c.UID != xr.GetUID() {
		return fmt.Errorf("cannot set controller reference: %s is already controlled by %s %s (UID %s)", u.GetName(), c.Kind, c.Name, c.UID)
	}
	if err := reconciler.SetController(u, xr); err != nil {
		return fmt.Errorf("cannot set controller reference: %w", err)
	}
	return nil
}
