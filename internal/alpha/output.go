package alpha

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// Output returns what there is to print. The XR has its identity and its status,
// to which nothing comes that functions return; Full is the XR of the store with
// that status. Composed resources are as they were applied, without what the
// store knows besides, and the last event is the reconciler's own.
func (r *Result) Output() *reconciler.Output {
	status := r.status()
	full := r.stored.DeepCopy().Object
	full["status"] = status
	out := &reconciler.Output{Full: full, Composed: []map[string]any{}}
	out.XR = map[string]any{
		"apiVersion": r.XR.GetAPIVersion(), "kind": r.XR.GetKind(),
		"metadata": map[string]any{"name": r.XR.GetName()},
		"status":   status,
	}
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

// status is that of the XR after the reconcile: it is ready if all of its
// resources are.
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
