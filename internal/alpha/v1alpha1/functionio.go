package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A FunctionIO is the standard input and the standard output of a function.
type FunctionIO struct {
	// Crossplane neither sets nor reads apiVersion and kind.
	metav1.TypeMeta `json:",inline"`
	// Config is the function's config in the Composition. A function's output
	// does not have it.
	Config *runtime.RawExtension `json:"config,omitempty"`
	// Observed is the same for each function of a pipeline. A function's output
	// does not have it.
	Observed Observed `json:"observed"`
	// In a function's input, Desired and Results are the output of the previous function.
	Desired Desired  `json:"desired"`
	Results []Result `json:"results,omitempty"`
}

// Observed is the observed state.
type Observed struct {
	Composite ObservedComposite  `json:"composite"`
	Resources []ObservedResource `json:"resources,omitempty"`
}

// ObservedComposite is the XR before any patch is applied.
type ObservedComposite struct {
	Resource          runtime.RawExtension       `json:"resource"`
	ConnectionDetails []ExplicitConnectionDetail `json:"connectionDetails,omitempty"`
}

// An ObservedResource is an existing composed resource.
type ObservedResource struct {
	// Name is the value of the annotation crossplane.io/composition-resource-name.
	Name     string               `json:"name"`
	Resource runtime.RawExtension `json:"resource"`
	// ConnectionDetails is part of the encoded object even if it is empty.
	ConnectionDetails []ExplicitConnectionDetail `json:"connectionDetails"`
}

// Desired is the desired state.
type Desired struct {
	Composite DesiredComposite  `json:"composite"`
	Resources []DesiredResource `json:"resources,omitempty"`
}

// DesiredComposite is the desired XR as a complete object.
type DesiredComposite struct {
	Resource runtime.RawExtension `json:"resource"`
	// ConnectionDetails are the XR's connection details, except those that derive
	// from composed resources.
	ConnectionDetails []ExplicitConnectionDetail `json:"connectionDetails"`
}

// A DesiredResource is a desired composed resource.
type DesiredResource struct {
	Name string `json:"name"`
	// Resource is the complete object. Its status is ignored.
	Resource runtime.RawExtension `json:"resource"`
	// ConnectionDetails are the XR's connection details that derive from this resource.
	ConnectionDetails []DerivedConnectionDetail `json:"connectionDetails,omitempty"`
	// ReadinessChecks must all pass for the resource to be ready. If there are
	// none, its condition Ready must be True. The type MatchCondition is supported since v1.13;
	// MatchTrue and MatchFalse are not.
	ReadinessChecks []spec.ReadinessCheck `json:"readinessChecks,omitempty"`
}

// An ExplicitConnectionDetail is a connection detail in plain text, not base64.
type ExplicitConnectionDetail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A DerivedConnectionDetail is the source of a connection detail of the XR.
type DerivedConnectionDetail struct {
	// Name is the name of the connection detail. It is required, except for type
	// FromConnectionSecretKey, for which the default is the key.
	Name *string `json:"name,omitempty"`
	// Type determines which of the fields below is required. A detail of an
	// unknown type is ignored.
	Type                    spec.ConnectionDetailType `json:"type"`
	FromConnectionSecretKey *string                   `json:"fromConnectionSecretKey,omitempty"`
	FromFieldPath           *string                   `json:"fromFieldPath,omitempty"`
	Value                   *string                   `json:"value,omitempty"`
}

// A Result is a result that a function reports.
type Result struct {
	// Severity is Fatal, Warning or Normal. A Result with another severity is ignored.
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
}

// A Severity is the severity of a result.
type Severity string

// The severities.
const (
	Fatal   Severity = "Fatal"
	Warning Severity = "Warning"
	Normal  Severity = "Normal"
)
