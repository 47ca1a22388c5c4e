package builtin

import "github.com/xfn-dev/xfn/internal/builtin/sdk"

// ManagedTags is the input of function-tag-manager. All fields are optional.
type ManagedTags struct {
	sdk.Meta `json:",inline"`

	// AddTags are tags for all resources.
	AddTags []AddTag `json:"addTags,omitempty"`
	// IgnoreTags are the keys of tags whose observed values are kept.
	IgnoreTags []IgnoreTag `json:"ignoreTags,omitempty"`
	// RemoveTags are the keys of tags to remove. They are removed last.
	RemoveTags []RemoveTag `json:"removeTags,omitempty"`
}

// An AddTag has tags, or the path of tags.
type AddTag struct {
	Source `json:",inline"`
	// Policy is Replace if it is not Retain.
	Policy string `json:"policy,omitempty"`
	// Tags are the tags of the type FromValue.
	Tags map[string]string `json:"tags,omitempty"`
}

// An IgnoreTag has keys, or the path of keys.
type IgnoreTag struct {
	Source `json:",inline"`
	// Policy is Replace if it is not Retain.
	Policy string `json:"policy,omitempty"`
	// Keys are the keys of the type FromValue.
	Keys []string `json:"keys,omitempty"`
}

// A RemoveTag has keys, or the path of keys.
type RemoveTag struct {
	Source `json:",inline"`
	// Keys are the keys of the type FromValue.
	Keys []string `json:"keys,omitempty"`
}

// A Source selects where tags or keys come from.
type Source struct {
	// Type is FromValue if it is empty. An unknown type selects nothing.
	Type string `json:"type,omitempty"`
	// FromFieldPath is the path in the composite resource or in the environment.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
}

const (
	fromValue       = "FromValue"
	fromComposite   = "FromCompositeFieldPath"
	fromEnvironment = "FromEnvironmentFieldPath"

	retain = "Retain"
)

// tagManagerSince has the first version of the real function with each field. Other fields are older.
var tagManagerSince = map[string]string{"removeTags": "v0.3.0"}

// tagManagerValues are the values of Builtin.Values. Any other policy is Replace.
var tagManagerValues = map[string][]string{
	"addTags[].type":      {fromValue, fromComposite, fromEnvironment},
	"ignoreTags[].type":   {fromValue, fromComposite, fromEnvironment},
	"removeTags[].type":   {fromValue, fromComposite, fromEnvironment},
	"addTags[].policy":    {"Replace", retain},
	"ignoreTags[].policy": {"Replace", retain},
}

// isValue reports whether tags or keys are in the input.
func (s *Source) isValue() bool { return s.Type == "" || s.Type == fromValue }

// retains reports whether a policy is Retain. The real function ignores the policy of an
// entry without a type.
func (s *Source) retains(policy string) bool { return policy == retain && s.Type != "" }
