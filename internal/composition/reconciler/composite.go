package reconciler

import (
	"encoding/base64"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Keys of Crossplane's labels and annotations.
const (
	LabelComposite         = "crossplane.io/composite"
	LabelClaimName         = "crossplane.io/claim-name"
	LabelClaimNamespace    = "crossplane.io/claim-namespace"
	AnnotationResourceName = "crossplane.io/composition-resource-name"
	AnnotationPaused       = "crossplane.io/paused"
	AnnotationReconcile    = "crossplane.io/reconcile-requested-at"
)

// APIVersion is the apiVersion of documents that only renders write.
const APIVersion = "render.crossplane.io/v1beta1"

// Time replaces all times in output, so that renders are reproducible.
const Time = "2024-01-01T00:00:00Z"

// observe returns the observed state for functions. Of resources with the same
// name in the pipeline the last one counts. secrets have connection details.
func observe(xr *unstructured.Unstructured, observed []*unstructured.Unstructured, secrets Store) (*fnv1.State, error) {
	r, err := observeOne(xr, secrets)
	if err != nil {
		return nil, fmt.Errorf("encoding the composite resource: %w", err)
	}
	state := &fnv1.State{Composite: r}
	if len(observed) > 0 {
		state.Resources = make(map[string]*fnv1.Resource, len(observed))
	}
	for _, o := range observed {
		name := o.GetAnnotations()[AnnotationResourceName]
		if state.Resources[name], err = observeOne(o, secrets); err != nil {
			return nil, fmt.Errorf("encoding observed resource %q: %w", name, err)
		}
	}
	return state, nil
}

func observeOne(o *unstructured.Unstructured, secrets Store) (*fnv1.Resource, error) {
	s, err := structpb.NewStruct(o.Object)
	return &fnv1.Resource{Resource: s, ConnectionDetails: secrets.ConnectionDetails(o)}, err
}

// ByName returns the observed resources by their composition-resource-name.
func ByName(observed []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	m := make(map[string]*unstructured.Unstructured, len(observed))
	for _, o := range observed {
		m[o.GetAnnotations()[AnnotationResourceName]] = o
	}
	return m
}

// capabilities returns request metadata with the capabilities of this engine.
func capabilities() *fnv1.RequestMeta {
	return &fnv1.RequestMeta{Capabilities: []fnv1.Capability{
		fnv1.Capability_CAPABILITY_CAPABILITIES,
		fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		fnv1.Capability_CAPABILITY_CREDENTIALS,
		fnv1.Capability_CAPABILITY_CONDITIONS,
		fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS,
	}}
}

// document returns a document that only a render prints, with one field.
func document(kind, field string, value map[string]any) map[string]any {
	return map[string]any{"apiVersion": APIVersion, "kind": kind, field: value}
}

// ConnectionDetails returns the document of an XR's connection details.
func ConnectionDetails(details map[string][]byte) map[string]any {
	data := map[string]any{}
	for k, v := range details {
		data[k] = base64.StdEncoding.EncodeToString(v)
	}
	return document("ConnectionDetails", "data", data)
}
