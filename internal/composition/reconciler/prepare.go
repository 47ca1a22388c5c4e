package reconciler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Setup returns the composite resource as it stands in the API server before it
// is reconciled. An observed resource that could not belong to it is an error.
func Setup(in Input) (*unstructured.Unstructured, error) {
	xr := stored(in.XR)
	if err := belong(in.Observed, xr); err != nil {
		return nil, err
	}
	if len(in.Observed) > 0 {
		refs := make([]any, len(in.Observed))
		for i, o := range in.Observed {
			refs[i] = reference(o, xr)
		}
		setSpec(xr, in.Legacy, "resourceRefs", refs)
	}
	cs := conditionsOf(xr)
	cs.Set(Condition{
		Type: "Responsive", Status: "True", Reason: "WatchCircuitClosed",
		Since: Time, ObservedGeneration: xr.GetGeneration(),
	})
	setConditions(xr, cs.Recorded())
	return xr, nil
}

// Ended reports whether the reconciler stops before it calls any function,
// because the XR is paused or being deleted, and then returns what it leaves.
func Ended(xr *unstructured.Unstructured) (*Output, bool) {
	cs := conditionsOf(xr)
	out := &Output{XR: xr.Object, Full: xr.Object}
	switch {
	case xr.GetAnnotations()[AnnotationPaused] == "true":
		cs.Set(Condition{
			Type: TypeSynced, Status: "False", Reason: "ReconcilePaused",
			Message: "Reconciliation (including deletion) is paused via the pause annotation",
		})
		out.Results = []map[string]any{event("Normal", "ReconciliationPaused", "Reconciliation is paused via the pause annotation")}
	case xr.GetDeletionTimestamp() != nil:
		cs.Set(Condition{Type: TypeReady, Status: "False", Reason: "Deleting"})
		cs.Set(Condition{Type: TypeSynced, Status: "True", Reason: "ReconcileSuccess"})
	default:
		return nil, false
	}
	setConditions(xr, cs.Value())
	return out, true
}

// stored returns a copy of the XR with the UID and version that it would have
// in an API server. The UID depends on nothing but what the XR is.
func stored(in *unstructured.Unstructured) *unstructured.Unstructured {
	xr := in.DeepCopy()
	if xr.GetUID() == "" {
		id := xr.GroupVersionKind().String() + "\x00" + xr.GetNamespace() + "\x00" + xr.GetName()
		xr.SetUID(types.UID(uuid.NewSHA1(uuid.Nil, []byte(id)).String()))
	}
	xr.SetResourceVersion("999")
	return xr
}

func belong(observed []*unstructured.Unstructured, xr *unstructured.Unstructured) error {
	var faults []string
	for _, o := range observed {
		if c := metav1.GetControllerOfNoCopy(o); c != nil && c.UID != xr.GetUID() {
			faults = append(faults, fmt.Sprintf("observed resource %q is controlled by %s %q, not by the composite resource", o.GetName(), c.Kind, c.Name))
		}
		if ns := xr.GetNamespace(); ns != "" && o.GetNamespace() != ns {
			faults = append(faults, fmt.Sprintf("observed resource %q is in namespace %q, not in the composite resource's %q", o.GetName(), o.GetNamespace(), ns))
		}
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// PipelineOf prepares the XR for its reconcile, and returns what the pipeline
// starts with, but for its context. Functions may require whatever the render
// knows of: there is one API server for all. An observed resource that has no
// composition-resource-name is an error.
func PipelineOf(in Input, xr *unstructured.Unstructured) (PipelineInput, error) {
	labels := xr.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelComposite] = cmp.Or(labels[LabelComposite], xr.GetName())
	xr.SetLabels(labels)
	setSpec(xr, in.Legacy, "compositionRef", map[string]any{"name": in.Composition.GetName()})
	observed, err := existing(in.Observed)
	if err != nil {
		return PipelineInput{}, err
	}
	store := slices.Concat(in.Required, in.Extra, in.Credentials, in.Observed, Store{xr})
	state, err := Observe(xr, observed, store)
	if err != nil {
		return PipelineInput{}, err
	}
	return PipelineInput{
		Steps:    in.Composition.Spec.Pipeline,
		Observed: state,
		Secret:   store.Secret,
		Meta:     meta,
		Requirements: Requirements{
			Bootstrap: store.Exact, Dynamic: store.Exact, Schema: in.findSchema, SkipSame: true,
		},
	}, nil
}

// existing returns the observed resources that the XR's references lead to:
// those that have a name.
func existing(observed []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var named []*unstructured.Unstructured
	for _, o := range observed {
		if o.GetName() == "" {
			continue
		}
		if o.GetAnnotations()[AnnotationResourceName] == "" {
			return nil, fmt.Errorf("observed resource %q lacks the annotation %s", o.GetName(), AnnotationResourceName)
		}
		named = append(named, o)
	}
	return named, nil
}

// meta is a request's meta: this engine's capabilities, and a tag that is the
// SHA-256 of the request without its meta.
func meta(req *fnv1.RunFunctionRequest) (*fnv1.RequestMeta, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	sum := sha256.Sum256(b)
	m := Capabilities()
	m.Tag = hex.EncodeToString(sum[:])
	return m, nil
}

func conditionsOf(xr *unstructured.Unstructured) Conditions {
	v, _, _ := unstructured.NestedFieldNoCopy(xr.Object, "status", "conditions")
	return ParseConditions(v)
}

// setConditions and setSpec leave an XR whose status or spec is no object as it
// is, as Crossplane's own setters do.
func setConditions(xr *unstructured.Unstructured, cs []any) {
	_ = unstructured.SetNestedSlice(xr.Object, cs, "status", "conditions")
}

// setSpec sets one of the fields that are Crossplane's own.
func setSpec(xr *unstructured.Unstructured, legacy bool, field string, v any) {
	_ = unstructured.SetNestedField(xr.Object, v, specPath(legacy, field)...)
}

// specPath is where such a field is: a legacy XR has it right under its spec.
func specPath(legacy bool, field string) []string {
	if legacy {
		return []string{"spec", field}
	}
	return []string{"spec", "crossplane", field}
}

// reference returns how an XR refers to one of its resources: fields that are
// empty, or the same for every resource, are left out.
func reference(u, xr *unstructured.Unstructured) map[string]any {
	ref := map[string]any{}
	put := func(key, value string) {
		if value != "" {
			ref[key] = value
		}
	}
	put("apiVersion", u.GetAPIVersion())
	put("kind", u.GetKind())
	put("name", u.GetName())
	if xr.GetNamespace() == "" {
		put("namespace", u.GetNamespace())
	}
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
