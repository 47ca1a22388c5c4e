package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A FunctionIO is what a function reads from its standard input, and what it
// writes to its standard output. Fields that are missing have their zero value.
type FunctionIO struct {
	// Crossplane sends neither apiVersion nor kind, and looks at neither.
	metav1.TypeMeta `json:",inline"`
	// Config is that of the Composition for this function. It counts as input.
	Config *runtime.RawExtension `json:"config,omitempty"`
	// Observed is the same for each function of a pipeline. It counts as input.
	Observed Observed `json:"observed"`
	// Desired and Results are what the function before returned.
	Desired Desired  `json:"desired"`
	Results []Result `json:"results,omitempty"`
}

// Observed is the state that exists.
type Observed struct {
	Composite ObservedComposite  `json:"composite"`
	Resources []ObservedResource `json:"resources,omitempty"`
}

// ObservedComposite is the XR before anything was patched.
type ObservedComposite struct {
	Resource          runtime.RawExtension       `json:"resource"`
	ConnectionDetails []ExplicitConnectionDetail `json:"connectionDetails,omitempty"`
}

// An ObservedResource is a composed resource that exists.
type ObservedResource struct {
	// Name is that of the annotation crossplane.io/composition-resource-name.
	Name     string               `json:"name"`
	Resource runtime.RawExtension `json:"resource"`
	// ConnectionDetails are in the document even if there are none.
	ConnectionDetails []ExplicitConnectionDetail `json:"connectionDetails"`
}

// Desired is the state that the pipeline wants.
type Desired struct {
	Composite DesiredComposite  `json:"composite"`
	Resources []DesiredResource `json:"resources,omitempty"`
}

// DesiredComposite is the XR, whole.
type DesiredComposite struct {
	Resource runtime.RawExtension `json:"resource"`
	// ConnectionDetails are all that the XR has, but for those derived from
	// composed resources.
	ConnectionDetails []ExplicitConnectionDetail `json:"connectionDetails"`
}

// A DesiredResource is a composed resource that there should be.
type DesiredResource struct {
	Name string `json:"name"`
	// Resource is the whole object, whose status has no effect.
	Resource runtime.RawExtension `json:"resource"`
	// ConnectionDetails are the XR's that derive from this resource.
	ConnectionDetails []DerivedConnectionDetail `json:"connectionDetails,omitempty"`
	// ReadinessChecks have to pass, all of them. Without any the condition
	// Ready has to be True.
	ReadinessChecks []DesiredReadinessCheck `json:"readinessChecks,omitempty"`
}

// An ExplicitConnectionDetail is a connection detail: plain text, no base64.
type ExplicitConnectionDetail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A DerivedConnectionDetail says where to find one of the XR's connection
// details.
type DerivedConnectionDetail struct {
	// Name is required, but for type FromConnectionSecretKey: there it is the
	// key by default.
	Name *string `json:"name,omitempty"`
	// Type says which of the other fields is required. One that is not known
	// gives no connection detail.
	Type                    ConnectionDetailType `json:"type"`
	FromConnectionSecretKey *string              `json:"fromConnectionSecretKey,omitempty"`
	FromFieldPath           *string              `json:"fromFieldPath,omitempty"`
	Value                   *string              `json:"value,omitempty"`
}

// A ConnectionDetailType says where a connection detail comes from.
type ConnectionDetailType string

// The types of connection details.
const (
	FromConnectionSecretKey ConnectionDetailType = "FromConnectionSecretKey"
	FromFieldPath           ConnectionDetailType = "FromFieldPath"
	FromValue               ConnectionDetailType = "FromValue"
)

// A DesiredReadinessCheck is a test of a composed resource as it exists.
type DesiredReadinessCheck struct {
	// Type says which of the other fields is required.
	Type ReadinessCheckType `json:"type"`
	// FieldPath is required but for types None and MatchCondition.
	FieldPath *string `json:"fieldPath,omitempty"`
	// MatchString and MatchInteger may be "" and 0.
	MatchString  *string `json:"matchString,omitempty"`
	MatchInteger *int64  `json:"matchInteger,omitempty"`
	// MatchCondition came with v1.13. Neither field has a default.
	MatchCondition *MatchConditionReadinessCheck `json:"matchCondition,omitempty"`
}

// A ReadinessCheckType is a kind of test.
type ReadinessCheckType string

// The types of readiness checks.
const (
	NonEmpty       ReadinessCheckType = "NonEmpty"
	MatchString    ReadinessCheckType = "MatchString"
	MatchInteger   ReadinessCheckType = "MatchInteger"
	MatchCondition ReadinessCheckType = "MatchCondition"
	None           ReadinessCheckType = "None"
)

// MatchConditionReadinessCheck is the status that a condition has to have.
type MatchConditionReadinessCheck struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// A Result is what a function reports.
type Result struct {
	// Severity that is none of the three says that nobody will hear of it.
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
}

// A Severity is how bad a result is.
type Severity string

// The severities.
const (
	Fatal   Severity = "Fatal"
	Warning Severity = "Warning"
	Normal  Severity = "Normal"
)
