package spec

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources is the input: what to compose, and by which patches.
type Resources struct {
	// APIVersion, Kind and Metadata are not looked at.
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   metav1.ObjectMeta `json:"metadata,omitempty"`

	// PatchSets are lists of patches that patches of type PatchSet stand for.
	// Of several with one name the last counts.
	PatchSets []PatchSet `json:"patchSets,omitempty"`
	// Environment patches between the environment and the composite resource,
	// before anything is composed.
	Environment *Environment `json:"environment,omitempty"`
	// Resources are composed in their order. Of several with one name the last
	// is kept.
	Resources []Template `json:"resources,omitempty"`
	// WriteConnectionSecretToRef names the Secret that is composed of the
	// connection details of an XR that has spec.crossplane. Default: the XR's
	// name with "-connection", in its namespace.
	WriteConnectionSecretToRef *ConnectionSecret `json:"writeConnectionSecretToRef,omitempty"`
}

// A PatchSet is a named list of patches.
type PatchSet struct {
	Name string `json:"name"`
	// Patches are of any type but PatchSet.
	Patches []Patch `json:"patches"`
}

// Environment is what there is to do to the environment.
type Environment struct {
	// Patches are FromCompositeFieldPath, CombineFromComposite and
	// ToEnvironmentFieldPath, which write to the environment, and
	// ToCompositeFieldPath, CombineToComposite and FromEnvironmentFieldPath,
	// which write to the XR.
	Patches []Patch `json:"patches,omitempty"`
}

// A Template is a composed resource.
type Template struct {
	// Name is its key among the composed resources.
	Name string `json:"name"`
	// Base is a whole object with a kind. Default: what an earlier step or
	// template desires by this name.
	Base json.RawMessage `json:"base,omitempty"`
	// Patches run in their order.
	Patches []ComposedPatch `json:"patches,omitempty"`
	// ConnectionDetails go from the observed resource to the XR.
	ConnectionDetails []ConnectionDetail `json:"connectionDetails,omitempty"`
	// ReadinessChecks all have to pass for the resource to be ready. Default:
	// the condition Ready is True.
	ReadinessChecks []ReadinessCheck `json:"readinessChecks,omitempty"`
}

// A ComposedPatch is a patch of a template: one of its own, or a patch set.
type ComposedPatch struct {
	Patch `json:",inline"`
	// PatchSetName is required for type PatchSet, for which nothing else counts.
	PatchSetName *string `json:"patchSetName,omitempty"`
}

// A ConnectionDetail is an entry of the XR's connection details.
type ConnectionDetail struct {
	// Name is its key. Required.
	Name string `json:"name"`
	// Type says which of the other fields is required.
	Type ConnectionDetailType `json:"type"`
	// FromConnectionSecretKey is a key of the observed connection details.
	FromConnectionSecretKey *string `json:"fromConnectionSecretKey,omitempty"`
	// FromFieldPath is a path in the observed resource.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
	// Value is the value. It may be "".
	Value *string `json:"value,omitempty"`
}

// A ConnectionDetailType says where a connection detail comes from.
type ConnectionDetailType string

// The types of connection details.
const (
	FromConnectionSecretKey ConnectionDetailType = "FromConnectionSecretKey"
	FromFieldPath           ConnectionDetailType = "FromFieldPath"
	FromValue               ConnectionDetailType = "FromValue"
)

// A ReadinessCheck is a test that the observed resource has to pass.
type ReadinessCheck struct {
	Type ReadinessCheckType `json:"type"`
	// FieldPath is required, but for None and MatchCondition.
	FieldPath      *string         `json:"fieldPath,omitempty"`
	MatchString    *string         `json:"matchString,omitempty"`
	MatchInteger   *int64          `json:"matchInteger,omitempty"`
	MatchCondition *MatchCondition `json:"matchCondition,omitempty"`
}

// A ReadinessCheckType is a kind of test.
type ReadinessCheckType string

// The types of readiness checks.
const (
	CheckNonEmpty       ReadinessCheckType = "NonEmpty"
	CheckMatchString    ReadinessCheckType = "MatchString"
	CheckMatchInteger   ReadinessCheckType = "MatchInteger"
	CheckMatchTrue      ReadinessCheckType = "MatchTrue"
	CheckMatchFalse     ReadinessCheckType = "MatchFalse"
	CheckMatchCondition ReadinessCheckType = "MatchCondition"
	CheckNone           ReadinessCheckType = "None"
)

// MatchCondition is the status that a condition has to have.
type MatchCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// A ConnectionSecret names a Secret.
type ConnectionSecret struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Patches are FromCompositeFieldPath and CombineFromComposite, and write to
	// name and namespace.
	Patches []Patch `json:"patches,omitempty"`
}
