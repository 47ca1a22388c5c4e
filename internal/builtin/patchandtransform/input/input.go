package input

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

// A PatchType says where a patch reads and writes.
type PatchType string

// The types of patches.
const (
	FromCompositeFieldPath   PatchType = "FromCompositeFieldPath"
	ToCompositeFieldPath     PatchType = "ToCompositeFieldPath"
	CombineFromComposite     PatchType = "CombineFromComposite"
	CombineToComposite       PatchType = "CombineToComposite"
	FromEnvironmentFieldPath PatchType = "FromEnvironmentFieldPath"
	ToEnvironmentFieldPath   PatchType = "ToEnvironmentFieldPath"
	CombineFromEnvironment   PatchType = "CombineFromEnvironment"
	CombineToEnvironment     PatchType = "CombineToEnvironment"
	PatchSetType             PatchType = "PatchSet"
)

// A Patch moves a value from one object to another.
type Patch struct {
	// Type is FromCompositeFieldPath by default.
	Type PatchType `json:"type,omitempty"`
	// FromFieldPath is where the value is read. Required, but for Combine types.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
	// Combine makes the value of several. Required for Combine types.
	Combine *Combine `json:"combine,omitempty"`
	// ToFieldPath is where the value is written: by default where it was read.
	// Required for Combine types. [*] in it stands for all elements there are.
	ToFieldPath *string `json:"toFieldPath,omitempty"`
	// Transforms change the value, one after the other.
	Transforms []Transform `json:"transforms,omitempty"`
	Policy     *Policy     `json:"policy,omitempty"`
}

// TypeOrDefault is the type that the patch has, written or not.
func (p *Patch) TypeOrDefault() PatchType {
	if p.Type == "" {
		return FromCompositeFieldPath
	}
	return p.Type
}

// IsCombine reports whether patches of the type make their value of several.
func (t PatchType) IsCombine() bool {
	switch t {
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		return true
	default:
		return false
	}
}

// From is the policy for reading that the patch has, written or not.
func (p *Patch) From() FromPolicy {
	if p.Policy == nil || p.Policy.FromFieldPath == nil {
		return FromOptional
	}
	return *p.Policy.FromFieldPath
}

// Over is the policy for writing that the patch has, written or not.
func (p *Patch) Over() ToPolicy {
	if p.Policy == nil || p.Policy.ToFieldPath == nil {
		return Replace
	}
	return *p.Policy.ToFieldPath
}

// A ComposedPatch is a patch of a template: one of its own, or a patch set.
type ComposedPatch struct {
	Patch `json:",inline"`
	// PatchSetName is required for type PatchSet, for which nothing else counts.
	PatchSetName *string `json:"patchSetName,omitempty"`
}

// Combine makes one value of several.
type Combine struct {
	// Variables are what the format takes, in order. At least one.
	Variables []Variable `json:"variables"`
	// Strategy is "string".
	Strategy CombineStrategy `json:"strategy"`
	// String is required.
	String *CombineString `json:"string,omitempty"`
}

// A CombineStrategy is how values are combined.
type CombineStrategy string

// CombineByString is the only strategy.
const CombineByString CombineStrategy = "string"

// A Variable is a value to combine.
type Variable struct {
	FromFieldPath string `json:"fromFieldPath"`
}

// CombineString formats values.
type CombineString struct {
	// Format is that of Go's fmt.Sprintf.
	Format string `json:"fmt"`
}

// A Policy says what to do about values that are not there, or are there
// already.
type Policy struct {
	// FromFieldPath is Optional by default.
	FromFieldPath *FromPolicy `json:"fromFieldPath,omitempty"`
	// ToFieldPath is Replace by default.
	ToFieldPath *ToPolicy `json:"toFieldPath,omitempty"`
}

// A FromPolicy says what it means that there is nothing to read.
type FromPolicy string

// The policies for reading.
const (
	FromOptional FromPolicy = "Optional"
	FromRequired FromPolicy = "Required"
)

// A ToPolicy says what becomes of what is there already.
type ToPolicy string

// The policies for writing. MergeObject is MergeObjects, and AppendArray is
// ForceMergeObjectsAppendArrays.
const (
	Replace                       ToPolicy = "Replace"
	MergeObjects                  ToPolicy = "MergeObjects"
	MergeObjectsAppendArrays      ToPolicy = "MergeObjectsAppendArrays"
	ForceMergeObjects             ToPolicy = "ForceMergeObjects"
	ForceMergeObjectsAppendArrays ToPolicy = "ForceMergeObjectsAppendArrays"
	MergeObject                   ToPolicy = "MergeObject"
	AppendArray                   ToPolicy = "AppendArray"
)

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
