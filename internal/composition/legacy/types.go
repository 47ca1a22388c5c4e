package legacy

import pt "github.com/xfn-dev/xfn/internal/patch/spec"

// spec has the fields of a spec that a pipeline replaces, in the form of
// function-patch-and-transform's input with the differences below.
type spec struct {
	PatchSets   []patchSet       `json:"patchSets"`
	Environment environment      `json:"environment"`
	Resources   []resource       `json:"resources"`
	Functions   []alphaFunction  `json:"functions"`
	Pipeline    []map[string]any `json:"pipeline"`
}

type patchSet struct {
	Name    string  `json:"name"`
	Patches []patch `json:"patches"`
}

// resource requires that a base is an object.
type resource struct {
	pt.Template
	Base    map[string]any `json:"base,omitzero"`
	Patches []patch        `json:"patches,omitempty"`
}

// patch has merge options in its policy. Only resources have PatchSetName.
type patch struct {
	pt.ComposedPatch
	Policy policy `json:"policy,omitzero"`
}

type policy struct {
	FromFieldPath pt.FromPolicy `json:"fromFieldPath,omitempty"`
	// ToFieldPath replaces MergeOptions.
	ToFieldPath  pt.ToPolicy   `json:"toFieldPath,omitempty"`
	MergeOptions *mergeOptions `json:"mergeOptions,omitempty"`
}

type mergeOptions struct {
	KeepMapValues bool `json:"keepMapValues"`
	AppendSlice   bool `json:"appendSlice"`
}
