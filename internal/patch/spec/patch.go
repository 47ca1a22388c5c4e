package spec

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

// To is the path that the patch writes to, written or not.
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
