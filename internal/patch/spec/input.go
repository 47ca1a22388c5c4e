package spec

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources is the input of function-patch-and-transform (kind Resources).
type Resources struct {
	// APIVersion, Kind and Metadata are ignored.
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   metav1.ObjectMeta `json:"metadata,omitempty"`

	// PatchSets are lists of patches to which patches of type PatchSet refer by
	// name. If two sets have the same name, the last one is used.
	PatchSets []PatchSet `json:"patchSets,omitempty"`
	// Environment has patches that run before resources are composed.
	Environment *Environment `json:"environment,omitempty"`
	// Resources are composed in order. If two have the same name, the last one is used.
	Resources []Template `json:"resources,omitempty"`
	// WriteConnectionSecretToRef names the Secret for the connection details of an
	// XR with fields in spec.crossplane. Default: the XR's name with the suffix
	// "-connection", in the XR's namespace.
	WriteConnectionSecretToRef *ConnectionSecret `json:"writeConnectionSecretToRef,omitempty"`
}

// A PatchSet is a named list of patches.
type PatchSet struct {
	Name string `json:"name" required:""`
	// Patches may have any type except PatchSet.
	Patches []Patch `json:"patches" required:""`
}

// Environment contains patches between the environment and the XR.
type Environment struct {
	// Patches of the types FromCompositeFieldPath, CombineFromComposite and
	// ToEnvironmentFieldPath write to the environment. Patches of the types
	// ToCompositeFieldPath, CombineToComposite and FromEnvironmentFieldPath write
	// to the XR.
	Patches []Patch `json:"patches,omitempty"`
}

// A Template is the template of a composed resource.
type Template struct {
	// Name is the name of the composed resource in the pipeline.
	Name string `json:"name" required:""`
	// Base is an object with a kind. Default: the resource of the same name that
	// an earlier step or template desires.
	Base json.RawMessage `json:"base,omitempty"`
	// Patches are applied in order.
	Patches []ComposedPatch `json:"patches,omitempty"`
	// ConnectionDetails are copied from the observed composed resource to the XR.
	ConnectionDetails []ConnectionDetail `json:"connectionDetails,omitempty"`
	// ReadinessChecks must all pass for the composed resource to be ready.
	// Default: the condition Ready must be True.
	ReadinessChecks []ReadinessCheck `json:"readinessChecks,omitempty"`
}

// A ComposedPatch is a patch of a Template, or a reference to a patch set.
type ComposedPatch struct {
	Patch `json:",inline"`
	// PatchSetName is the name of a patch set. It is required for type PatchSet,
	// for which all other fields are ignored.
	PatchSetName *string `json:"patchSetName,omitempty"`
}

// A ConnectionDetail is an entry of the XR's connection details.
type ConnectionDetail struct {
	// Name is the key of the connection detail in the XR. It is required.
	Name string `json:"name" required:""`
	// Type decides whether FromConnectionSecretKey, FromFieldPath or Value is required.
	Type ConnectionDetailType `json:"type" required:""`
	// FromConnectionSecretKey is a key in the connection details of the observed
	// composed resource.
	FromConnectionSecretKey *string `json:"fromConnectionSecretKey,omitempty"`
	// FromFieldPath is a field path in the observed composed resource.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
	// Value is the value for type FromValue. It may be "".
	Value *string `json:"value,omitempty"`
}

// A ConnectionDetailType is the source of a connection detail.
type ConnectionDetailType string

// The types of connection details.
const (
	FromConnectionSecretKey ConnectionDetailType = "FromConnectionSecretKey"
	FromFieldPath           ConnectionDetailType = "FromFieldPath"
	FromValue               ConnectionDetailType = "FromValue"
)

// A ReadinessCheck is a check of the observed composed resource.
type ReadinessCheck struct {
	Type ReadinessCheckType `json:"type" required:""`
	// FieldPath is the path to check. It is required for all types except None and
	// MatchCondition.
	FieldPath      *string         `json:"fieldPath,omitempty"`
	MatchString    *string         `json:"matchString,omitempty"`
	MatchInteger   *int64          `json:"matchInteger,omitempty"`
	MatchCondition *MatchCondition `json:"matchCondition,omitempty"`
}

// A ReadinessCheckType decides what a ReadinessCheck compares.
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

// MatchCondition is a type of condition and the status that it must have.
type MatchCondition struct {
	Type   string `json:"type" required:""`
	Status string `json:"status" required:""`
}

// A ConnectionSecret names a Secret.
type ConnectionSecret struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Patches of the types FromCompositeFieldPath and CombineFromComposite write
	// to the fields name and namespace of the reference to the Secret.
	Patches []Patch `json:"patches,omitempty"`
}
