package alpha

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// Render reconciles the XR of req once. observed has the composed resources that exist, and
// Secrets. A Secret without the annotation of a composed resource has connection details of
// the XR or of a composed resource. Render changes none of its arguments.
//
// The notes of the output name the composed resources that are deleted. The warnings
// name composed resources that could not be rendered, and existing composed resources
// that are not deleted although no template or function desires them. A Fatal result is
// returned as a *function.FatalError.
func Render(ctx context.Context, run ContainerRunner, req Request, observed []*unstructured.Unstructured) (*reconciler.Output, error) {
	var composed, secrets []*unstructured.Unstructured
	for _, o := range observed {
		if o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && o.GetAnnotations()[reconciler.AnnotationResourceName] == "" {
			secrets = append(secrets, o)
		} else {
			composed = append(composed, o)
		}
	}
	if req.StoreConfig != "" {
		req.XR = publishing(req.XR, req.StoreConfig)
	}
	xr, store := Cluster(req.XR, composed, secrets)
	req.XR = xr
	if out := reconciler.Ended(xr.DeepCopy(), "", 0); out != nil {
		out.XR = identified(xr, out.Full["status"])
		return out, nil
	}
	got, err := Run(ctx, req, run, store)
	if err != nil {
		return nil, err
	}
	out := got.Output(req.ConnectionSecretKeys)
	for _, d := range got.Dropped {
		if d.Deleted {
			out.Notes = append(out.Notes, fmt.Sprintf("composed resource %q, %s %q, is deleted", d.Name, d.Object.GetKind(), d.Object.GetName()))
		} else {
			out.Warnings = append(out.Warnings, fmt.Sprintf("composed resource %q, %s %q, is left behind: it is no longer desired, but is not deleted", d.Name, d.Object.GetKind(), d.Object.GetName()))
		}
	}
	for _, c := range got.Composed {
		if c.Unrendered != nil {
			out.Warnings = append(out.Warnings, fmt.Sprintf("composed resource %q is left out, since it could not be rendered: %v", c.Name, c.Unrendered))
		}
	}
	return out, nil
}

// publishing returns xr with publishConnectionDetailsTo, as Crossplane sets it by the StoreConfig of
// the Composition, unless xr has it.
func publishing(xr *unstructured.Unstructured, storeConfig string) *unstructured.Unstructured {
	xr = xr.DeepCopy()
	if _, given, _ := unstructured.NestedFieldNoCopy(xr.Object, "spec", "publishConnectionDetailsTo"); !given {
		reconciler.Identify(xr)
		to := map[string]any{"name": string(xr.GetUID()), "configRef": map[string]any{"name": storeConfig}}
		_ = unstructured.SetNestedMap(xr.Object, to, "spec", "publishConnectionDetailsTo")
	}
	return xr
}

// Output returns the output of a render. Its XR has the identity and the status of the
// XR, without the fields that functions returned. Full is the XR in the store with the
// same status. Composed resources are as they were applied, without the fields that only
// the store has. If no event is a warning, Output adds the event with which Crossplane
// ends a successful reconcile. keys are the keys of the connection details to publish.
func (r *Result) Output(keys []string) *reconciler.Output {
	status := r.status()
	full := r.stored.DeepCopy().Object
	full["status"] = status
	out := &reconciler.Output{Full: full, Composed: []map[string]any{}, ConnectionDetails: reconciler.ConnectionDetails(r.ConnectionDetails, keys)}
	out.XR = identified(r.XR, status)
	for _, c := range r.Composed {
		if c.Desired != nil {
			out.Composed = append(out.Composed, c.Desired.Object)
		}
	}
	events := r.Events
	if !slices.ContainsFunc(events, func(e Event) bool { return e.Type == fnio.Warning }) {
		events = slices.Concat(events, []Event{{fnio.Normal, "Successfully composed resources"}})
	}
	for _, e := range events {
		out.Results = append(out.Results, map[string]any{
			"apiVersion": reconciler.APIVersion,
			"kind":       "Result",
			"severity":   string(e.Type),
			"reason":     "ComposeResources",
			"message":    e.Message,
		})
	}
	return out
}

// identified returns a document with the identity of the XR and its status.
func identified(xr *unstructured.Unstructured, status any) map[string]any {
	return map[string]any{
		"apiVersion": xr.GetAPIVersion(), "kind": xr.GetKind(),
		"metadata": map[string]any{"name": xr.GetName()},
		"status":   status,
	}
}

// status returns the XR's status after the reconcile. The XR is ready if all its
// composed resources are ready.
func (r *Result) status() map[string]any {
	status, _, _ := unstructured.NestedMap(r.XR.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	conditions := reconciler.ParseConditions(status["conditions"])
	conditions.Set(reconciler.Condition{Type: reconciler.TypeSynced, Status: "True", Reason: "ReconcileSuccess"})
	ready := reconciler.Condition{Type: reconciler.TypeReady, Status: "True", Reason: "Available"}
	if slices.ContainsFunc(r.Composed, func(c Composed) bool { return !c.Ready }) {
		ready.Status, ready.Reason = "False", "Creating"
	}
	conditions.Set(ready)
	status["conditions"] = conditions.Value()
	return status
}
