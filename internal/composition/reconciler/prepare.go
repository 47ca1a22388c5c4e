package reconciler

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
)

// setup returns the XR that Crossplane reconciles, and the XR that functions may require, which is
// the same object if Crossplane updates it in the API server. It returns an error if an observed
// resource cannot belong to the XR.
func setup(in Input) (xr, required *unstructured.Unstructured, err error) {
	xr = &unstructured.Unstructured{Object: schema.Copy(in.XR.Object)}
	Identify(xr)
	xr.SetResourceVersion("999")
	if err := checkObserved(in.Observed, xr); err != nil {
		return nil, nil, err
	}
	if len(in.Observed) > 0 {
		refs := make([]any, len(in.Observed))
		for i, o := range in.Observed {
			refs[i] = reference(o, xr)
		}
		setSpec(xr, in.Legacy, "resourceRefs", refs)
	}
	if required = xr; !updates(in) {
		required = &unstructured.Unstructured{Object: schema.Copy(xr.Object)}
	}
	cs := conditionsOf(xr)
	cs.Set(Condition{
		Type: "Responsive", Status: "True", Reason: "WatchCircuitClosed",
		Since: Time, ObservedGeneration: xr.GetGeneration(),
	})
	setConditions(xr, cs.Recorded())
	return xr, required, nil
}

// updates reports whether Crossplane updates the XR before it calls functions: to set the label with
// the name prefix, or because the Composition has a namespace for connection Secrets.
func updates(in Input) bool {
	_, set, _ := unstructured.NestedFieldNoCopy(in.XR.Object, "spec", fieldSecretRef)
	secret := in.Composition.Spec.WriteConnectionSecretsToNamespace != nil && !(in.Legacy && set)
	return in.XR.GetLabels()[LabelComposite] == "" || secret
}

// handleRequest returns the event of a request to reconcile that Crossplane has not handled yet.
// It records the request in the status of the XR, which functions observe.
func handleRequest(xr *unstructured.Unstructured) []map[string]any {
	handled, _, _ := unstructured.NestedString(xr.Object, "status", "lastHandledReconcileAt")
	token := xr.GetAnnotations()[AnnotationReconcile]
	if token == "" || token == handled || ending(xr) == "paused" {
		return nil
	}
	_ = unstructured.SetNestedField(xr.Object, token, "status", "lastHandledReconcileAt")
	return []map[string]any{event("Normal", "ReconcileRequestHandled", "Handling reconcile request")}
}

// pausedMessage is the message of the condition Synced of a paused XR since Crossplane v1.14.
const pausedMessage = "Reconciliation (including deletion) is paused via the pause annotation"

// Ended returns the output for an XR that is paused or being deleted. The reconciler of every
// version of Crossplane calls no function for it. For any other XR, Ended returns nil. message is
// the text of the condition of a paused XR. generation is the observedGeneration of the new
// conditions, or 0 for none. Ended changes the XR.
func Ended(xr *unstructured.Unstructured, message string, generation int64) *Output {
	cs := conditionsOf(xr)
	out := &Output{XR: xr.Object, Full: xr.Object, ConnectionDetails: ConnectionDetails(nil, nil)}
	switch ending(xr) {
	case "paused":
		cs.Set(Condition{Type: TypeSynced, Status: "False", Reason: "ReconcilePaused", Message: message, ObservedGeneration: generation})
		out.Results = []map[string]any{event("Normal", "ReconciliationPaused", "Reconciliation is paused via the pause annotation")}
	case "being deleted":
		cs.Set(Condition{Type: TypeReady, Status: "False", Reason: "Deleting", ObservedGeneration: generation})
		cs.Set(Condition{Type: TypeSynced, Status: "True", Reason: "ReconcileSuccess", ObservedGeneration: generation})
	default:
		return nil
	}
	setConditions(xr, cs.Value())
	return out
}

// ending returns why the reconciler calls no function for an XR, or "".
func ending(xr *unstructured.Unstructured) string {
	switch {
	case xr.GetAnnotations()[AnnotationPaused] == "true":
		return "paused"
	case xr.GetDeletionTimestamp() != nil:
		return "being deleted"
	default:
		return ""
	}
}

// Identify sets the UID of an XR that has none. It depends on the apiVersion, kind, namespace and name.
func Identify(xr *unstructured.Unstructured) {
	if xr.GetUID() == "" {
		id := xr.GroupVersionKind().String() + "\x00" + xr.GetNamespace() + "\x00" + xr.GetName()
		xr.SetUID(types.UID(uuid.NewSHA1(uuid.Nil, []byte(id)).String()))
	}
}

// A ForeignObservedError is the error for observed resources that the composite resource cannot compose.
type ForeignObservedError struct {
	Object *unstructured.Unstructured // the first one
	text   string
}

func (e *ForeignObservedError) Error() string { return e.text }

func checkObserved(observed []*unstructured.Unstructured, xr *unstructured.Unstructured) error {
	var faults []string
	var first *unstructured.Unstructured
	for _, o := range observed {
		if c := metav1.GetControllerOfNoCopy(o); c != nil && c.UID != xr.GetUID() {
			faults = append(faults, fmt.Sprintf("observed resource %q is controlled by %s %q, not by the composite resource", o.GetName(), c.Kind, c.Name))
		}
		if ns := xr.GetNamespace(); ns != "" && o.GetNamespace() != ns {
			faults = append(faults, fmt.Sprintf("observed resource %q is in namespace %q, not in the composite resource's %q", o.GetName(), o.GetNamespace(), ns))
		}
		if first == nil && len(faults) > 0 {
			first = o
		}
	}
	if first != nil {
		return &ForeignObservedError{first, strings.Join(faults, "; ")}
	}
	return nil
}

// fieldSecretRef is the field in spec that names the Secret of the connection details.
const fieldSecretRef = "writeConnectionSecretToRef"

// pipelineOf prepares the XR and returns the input of the pipeline. Functions may
// require any object in the store.
func pipelineOf(in Input, xr *unstructured.Unstructured, observed []*unstructured.Unstructured, store Store) (pipelineInput, error) {
	add(xr, "labels", map[string]string{LabelComposite: labelsOf(xr).composite})
	ref := map[string]any{}
	if name := in.Composition.GetName(); name != "" {
		ref["name"] = name
	}
	setSpec(xr, in.Legacy, "compositionRef", ref)
	ns := in.Composition.Spec.WriteConnectionSecretsToNamespace
	if _, set, _ := unstructured.NestedFieldNoCopy(xr.Object, "spec", fieldSecretRef); in.Legacy && ns != nil && !set {
		setSpec(xr, true, fieldSecretRef, map[string]any{"name": string(xr.GetUID()), "namespace": *ns})
	}
	state, err := observe(xr, observed, store)
	if err != nil {
		return pipelineInput{}, err
	}
	if !in.Legacy {
		state.Composite.ConnectionDetails = nil // Only legacy XRs have a connection Secret.
	}
	find := store.withRevision(in.Composition)
	return pipelineInput{
		Steps:     in.Composition.Spec.Pipeline,
		Validated: in.Validated,
		Observed:  state,
		Context:   in.Context,
		Secret:    store.Secret,
		Meta:      meta,
		Requirements: Requirements{
			Bootstrap: find, Dynamic: find, Schema: in.findSchema, SkipSame: true,
		},
	}, nil
}

// existing returns the objects in the store that the XR's resourceRefs name, in their
// order. Like Crossplane, it omits objects that another object controls.
func existing(xr *unstructured.Unstructured, legacy bool, store Store) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, o := range store.referenced(fieldpath.List(xr.Object, specPath(legacy, "resourceRefs")...), xr.GetNamespace()) {
		switch c := metav1.GetControllerOfNoCopy(o); {
		case c != nil && c.UID != xr.GetUID():
		case o.GetAnnotations()[AnnotationResourceName] == "":
			return nil, &UnnamedError{Object: o}
		default:
			found = append(found, o)
		}
	}
	return found, nil
}

// An UnnamedError is the error of an observed resource without the annotation that has its name in
// the pipeline.
type UnnamedError struct{ Object *unstructured.Unstructured }

func (e *UnnamedError) Error() string {
	return fmt.Sprintf("observed resource %q lacks the annotation %s", e.Object.GetName(), AnnotationResourceName)
}

// meta returns the metadata for a request: the engine's capabilities, and the
// SHA-256 of the request as the tag.
func meta(req *fnv1.RunFunctionRequest) (*fnv1.RequestMeta, error) {
	hash := sha256.New()
	if err := encode(hash, req); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	m := capabilities()
	m.Tag = hex.EncodeToString(hash.Sum(nil))
	return m, nil
}

func conditionsOf(xr *unstructured.Unstructured) Conditions {
	return ParseConditions(fieldpath.At(xr.Object, "status", "conditions"))
}

// setConditions sets status.conditions. Like Crossplane, it does nothing if
// status is not an object.
func setConditions(xr *unstructured.Unstructured, cs []any) {
	_ = unstructured.SetNestedSlice(xr.Object, cs, "status", "conditions")
}

// setSpec sets a field of the XR's spec that Crossplane owns. It does nothing if
// spec is not an object.
func setSpec(xr *unstructured.Unstructured, legacy bool, field string, v any) {
	_ = unstructured.SetNestedField(xr.Object, v, specPath(legacy, field)...)
}

// specPath returns the path of a field that Crossplane owns in an XR's spec.
func specPath(legacy bool, field string) []string {
	if legacy {
		return []string{"spec", field}
	}
	return []string{"spec", "crossplane", field}
}

func reference(u, xr *unstructured.Unstructured) map[string]any {
	ref := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "name": u.GetName()}
	if xr.GetNamespace() == "" {
		ref["namespace"] = u.GetNamespace()
	}
	maps.DeleteFunc(ref, func(_ string, v any) bool { return v == "" })
	return ref
}

func event(severity, reason, message string) map[string]any {
	return map[string]any{
		"apiVersion": APIVersion,
		"kind":       "Result",
		"message":    message,
		"reason":     reason,
		"severity":   severity,
	}
}
