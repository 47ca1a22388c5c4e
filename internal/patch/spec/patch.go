package spec

import "cmp"

// A PatchType decides where a patch reads and writes.
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

// A Patch copies a value from one object to another.
type Patch struct {
	// Type is FromCompositeFieldPath by default.
	Type PatchType `json:"type,omitempty"`
	// FromFieldPath is the path to read. Required, except for Combine types.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
	// Combine computes the value from several. Required for Combine types.
	Combine *Combine `json:"combine,omitempty"`
	// ToFieldPath is the path to write, by default FromFieldPath. Required for
	// Combine types. [*] in it matches all existing elements.
	ToFieldPath *string `json:"toFieldPath,omitempty"`
	// Transforms are applied to the value in order.
	Transforms []Transform `json:"transforms,omitempty"`
	Policy     *Policy     `json:"policy,omitempty"`
}

// TypeOrDefault returns the patch's type, or the default.
func (p *Patch) TypeOrDefault() PatchType { return cmp.Or(p.Type, FromCompositeFieldPath) }

// IsCombine reports whether patches of the type combine several values.
func (t PatchType) IsCombine() bool {
	switch t {
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		return true
	default:
		return false
	}
}

// To returns the path that the patch writes, or the default.
func (p *Patch) To() string {
	switch {
	case p.ToFieldPath != nil:
		return *p.ToFieldPath
	case p.FromFieldPath != nil:
		return *p.FromFieldPath
	default:
		return ""
	}
}

// From returns the policy for reading, or the default.
func (p *Patch) From() FromPolicy {
	if p.Policy == nil || p.Policy.FromFieldPath == nil {
		return FromOptional
	}
	return *p.Policy.FromFieldPath
}

// Over returns the policy for writing, or the default.
func (p *Patch) Over() ToPolicy {
	if p.Policy == nil || p.Policy.ToFieldPath == nil {
		return Replace
	}
	return *p.Policy.ToFieldPath
}

// Combine computes one value from several.
type Combine struct {
	// Variables are the arguments of the format, at least one.
	Variables []Variable `json:"variables"`
	// Strategy is "string".
	Strategy CombineStrategy `json:"strategy"`
	// String is required.
	String *CombineString `json:"string,omitempty"`
}

// A CombineStrategy is a way to combine values.
type CombineStrategy string

// CombineByString is the only strategy.
const CombineByString CombineStrategy = "string"

// A Variable is a value to combine.
type Variable struct {
	FromFieldPath string `json:"fromFieldPath"`
}

// CombineString formats values.
type CombineString struct {
	// Format is a format of Go's fmt.Sprintf.
	Format string `json:"fmt"`
}

// A Policy decides about missing sources and existing targets of patches.
type Policy struct {
	// FromFieldPath is Optional by default.
	FromFieldPath *FromPolicy `json:"fromFieldPath,omitempty"`
	// ToFieldPath is Replace by default.
	ToFieldPath *ToPolicy `json:"toFieldPath,omitempty"`
}

// A FromPolicy decides whether the source of a patch may be missing.
type FromPolicy string

// The policies for reading.
const (
	FromOptional FromPolicy = "Optional"
	FromRequired FromPolicy = "Required"
)

// A ToPolicy decides how a value is merged with the existing one.
type ToPolicy string

// The policies for writing. MergeObject means MergeObjects, and AppendArray means
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
