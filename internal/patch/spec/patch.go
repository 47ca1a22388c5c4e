package spec

import "cmp"

// A PatchType decides which object a patch reads, and which one it writes.
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
	// FromFieldPath is the path to read. It is required, except for Combine types.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
	// Combine computes the value from several values. It is required for Combine types.
	Combine *Combine `json:"combine,omitempty"`
	// ToFieldPath is the path to write. Default: FromFieldPath. Combine types
	// require one of the two. [*] in the path matches all existing elements.
	ToFieldPath *string `json:"toFieldPath,omitempty"`
	// Transforms are applied to the value in order.
	Transforms []Transform `json:"transforms,omitempty"`
	Policy     *Policy     `json:"policy,omitempty"`
}

// TypeOrDefault returns the patch's type. The default is FromCompositeFieldPath.
func (p *Patch) TypeOrDefault() PatchType { return cmp.Or(p.Type, FromCompositeFieldPath) }

// IsCombine reports whether patches of type t combine several values.
func (t PatchType) IsCombine() bool {
	switch t {
	case CombineFromComposite, CombineToComposite, CombineFromEnvironment, CombineToEnvironment:
		return true
	default:
		return false
	}
}

// To returns the path that the patch writes: ToFieldPath or, if it is not set,
// FromFieldPath.
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

// From returns the policy for a missing source. The default is FromOptional.
func (p *Patch) From() FromPolicy {
	if p.Policy == nil || p.Policy.FromFieldPath == nil {
		return FromOptional
	}
	return *p.Policy.FromFieldPath
}

// Over returns the policy for an existing target value. The default is Replace.
func (p *Patch) Over() ToPolicy {
	if p.Policy == nil || p.Policy.ToFieldPath == nil {
		return Replace
	}
	return *p.Policy.ToFieldPath
}

// Combine computes one value from several values.
type Combine struct {
	// Variables are the arguments of the format. At least one is required.
	Variables []Variable `json:"variables" required:""`
	// Strategy must be "string", the only strategy.
	Strategy CombineStrategy `json:"strategy" required:""`
	// String contains the format. It is required.
	String *CombineString `json:"string,omitempty"`
}

// A CombineStrategy is a way to combine values.
type CombineStrategy string

// CombineByString is the only CombineStrategy.
const CombineByString CombineStrategy = "string"

// A Variable selects one of the values to combine.
type Variable struct {
	FromFieldPath string `json:"fromFieldPath" required:""`
}

// CombineString combines values by formatting them.
type CombineString struct {
	// Format is a format for Go's fmt.Sprintf, with the variables as arguments.
	Format string `json:"fmt" required:""`
}

// A Policy decides what a patch does if its source is missing, or its target has a value.
type Policy struct {
	// FromFieldPath is the policy for a missing source. Default: Optional.
	FromFieldPath *FromPolicy `json:"fromFieldPath,omitempty"`
	// ToFieldPath is the policy for an existing target value. Default: Replace.
	ToFieldPath *ToPolicy `json:"toFieldPath,omitempty"`
}

// A FromPolicy decides whether the source of a patch may be missing.
type FromPolicy string

// The policies for a missing source.
const (
	FromOptional FromPolicy = "Optional"
	FromRequired FromPolicy = "Required"
)

// A ToPolicy decides how a patch merges its value with an existing target value.
type ToPolicy string

// The policies for an existing target value. MergeObject is an alias of
// MergeObjects, and AppendArray of ForceMergeObjectsAppendArrays.
const (
	Replace                       ToPolicy = "Replace"
	MergeObjects                  ToPolicy = "MergeObjects"
	MergeObjectsAppendArrays      ToPolicy = "MergeObjectsAppendArrays"
	ForceMergeObjects             ToPolicy = "ForceMergeObjects"
	ForceMergeObjectsAppendArrays ToPolicy = "ForceMergeObjectsAppendArrays"
	MergeObject                   ToPolicy = "MergeObject"
	AppendArray                   ToPolicy = "AppendArray"
)
