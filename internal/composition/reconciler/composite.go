package reconciler

import (
	"encoding/base64"
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
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

// Time replaces all times in a render's output, so that renders of the same
// input are identical.
const Time = "2024-01-01T00:00:00Z"

// Input is the input of a render. The reconciler does not change it.
type Input struct {
	// XR is the composite resource, with its XRD's defaults applied.
	XR *unstructured.Unstructured
	// Composition is the Composition that the XR uses.
	Composition *apiextv1.Composition
	// Observed are the existing composed resources.
	Observed []*unstructured.Unstructured
	// Required are objects for bootstrap and dynamic requirements, Extra
	// for dynamic requirements only. Both must pass Check. Credentials are
	// the Secrets of steps.
	Required, Extra, Credentials Store
	// Schemas finds OpenAPI schemas that functions may require. Nil finds none.
	Schemas func(*fnv1.SchemaSelector) *fnv1.Schema
	// Legacy is true for an XR with the schema of Crossplane v1, which has
	// its references directly below spec.
	Legacy bool
}

func (in Input) findSchema(sel *fnv1.SchemaSelector) *fnv1.Schema {
	if in.Schemas == nil {
		return &fnv1.Schema{}
	}
	return in.Schemas(sel)
}

// Output is what a render ends with.
type Output struct {
	// XR has the fields that Crossplane would change; Full is the complete
	// composite resource.
	XR, Full map[string]any
	// Composed are the desired composed resources, sorted by their names in
	// the pipeline.
	Composed []map[string]any
	// Results are the documents with results, conditions and events, in
	// order.
	Results []map[string]any
}

// Observe returns the observed state for functions. Of observed resources with
// the same composition-resource-name the last one counts. Connection details
// come from secrets, unless that is nil.
func Observe(xr *unstructured.Unstructured, observed []*unstructured.Unstructured, secrets Store) (*fnv1.State, error) {
	r, err := observe(xr, secrets)
	if err != nil {
		return nil, fmt.Errorf("encoding the composite resource: %w", err)
	}
	state := &fnv1.State{Composite: r}
	for _, o := range observed {
		name := o.GetAnnotations()[AnnotationResourceName]
		if r, err = observe(o, secrets); err != nil {
			return nil, fmt.Errorf("encoding observed resource %q: %w", name, err)
		}
		if state.Resources == nil {
			state.Resources = make(map[string]*fnv1.Resource, len(observed))
		}
		state.Resources[name] = r
	}
	return state, nil
}

func observe(o *unstructured.Unstructured, secrets Store) (*fnv1.Resource, error) {
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

// Capabilities returns the request metadata with the capabilities of this
// engine.
func Capabilities() *fnv1.RequestMeta {
	return &fnv1.RequestMeta{Capabilities: []fnv1.Capability{
		fnv1.Capability_CAPABILITY_CAPABILITIES,
		fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		fnv1.Capability_CAPABILITY_CREDENTIALS,
		fnv1.Capability_CAPABILITY_CONDITIONS,
		fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS,
	}}
}

// Document returns a document that only a render prints, with one field.
func Document(kind, field string, value map[string]any) map[string]any {
	return map[string]any{"apiVersion": APIVersion, "kind": kind, field: value}
}

// ConnectionDetails returns the document of an XR's connection details.
func ConnectionDetails(details map[string][]byte) map[string]any {
	data := map[string]any{}
	for k, v := range details {
		data[k] = base64.StdEncoding.EncodeToString(v)
	}
	return Document("ConnectionDetails", "data", data)
}
