package builtin

import "github.com/xfn-dev/xfn/internal/builtin/sdk"

// SequencerInput is the input of function-sequencer. All fields are optional.
type SequencerInput struct {
	sdk.Meta `json:",inline"`

	// CacheTTL is the time to live of the response, as a Go duration. It may be zero or
	// negative. If it is empty, it is sdk.TTL.
	CacheTTL string `json:"cacheTTL,omitempty"`
	// EnableDeletionSequencing creates Usages.
	EnableDeletionSequencing bool `json:"enableDeletionSequencing,omitempty"`
	// ReplayDeletion is a field of each Usage.
	ReplayDeletion bool `json:"replayDeletion,omitempty"`
	// UsageVersion is v1 for the Usages of Crossplane v1. Any other text means v2.
	UsageVersion string `json:"usageVersion,omitempty"`
	// ResetCompositeReadiness sets the composite resource to not ready if a rule delays a
	// resource.
	ResetCompositeReadiness bool `json:"resetCompositeReadiness,omitempty"`
	// Rules are applied in order.
	Rules []Rule `json:"rules,omitempty"`
}

// A Rule is a sequence of resources.
type Rule struct {
	// Sequence has names of composed resources, or regular expressions that match them. A
	// regular expression that neither begins with ^ nor ends with $ gets both.
	Sequence []string `json:"sequence,omitempty"`
	// Condition is a CEL expression. If it is false, the rule delays no resource.
	Condition string `json:"condition,omitempty"`
	// DeleteOnly orders only the deletion.
	DeleteOnly bool `json:"deleteOnly,omitempty"`
	// CreateOnly orders only the creation.
	CreateOnly bool `json:"createOnly,omitempty"`
}

// sequencerSince has the first version of the real function with each field. Other fields are older.
var sequencerSince = map[string]string{
	"enableDeletionSequencing": "v0.4.0",
	"replayDeletion":           "v0.4.0",
	"usageVersion":             "v0.4.0",
	"resetCompositeReadiness":  "v0.4.0",
	"cacheTTL":                 "v0.6.0",
	"rules[].condition":        "v0.6.0",
	"rules[].deleteOnly":       "v0.6.0",
	"rules[].createOnly":       "v0.7.0-0",
}
