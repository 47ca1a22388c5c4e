package builtin

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// EnvironmentConfigsInput is the input of function-environment-configs. apiVersion, kind and
// metadata are ignored.
type EnvironmentConfigsInput struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec environmentConfigsSpec `json:"spec,omitempty"`
}

type environmentConfigsSpec struct {
	// DefaultData is the environment that all other data overrides. It is ignored if there are
	// no EnvironmentConfigs, or if they require nothing.
	DefaultData map[string]any `json:"defaultData,omitempty"`
	// EnvironmentConfigs select the EnvironmentConfigs to merge. Later ones override earlier ones.
	EnvironmentConfigs []environmentSource `json:"environmentConfigs,omitempty"`
	// Policy applies to sources of type Reference.
	Policy sdk.Policy `json:"policy,omitempty"`
}

// An environmentSource selects one or several EnvironmentConfigs.
type environmentSource struct {
	// Type is Reference, the default, or Selector. A source of any other type is ignored.
	Type string `json:"type,omitempty"`
	// Ref is required for type Reference.
	Ref *sdk.Reference `json:"ref,omitempty"`
	// Selector is required for type Selector.
	Selector *environmentSelector `json:"selector,omitempty"`
	// ToFieldPath is the path of the data in the environment. The default is the root.
	ToFieldPath string `json:"toFieldPath,omitempty"`
}

type environmentSelector struct {
	// Mode is Single, the default, which selects exactly one EnvironmentConfig and ignores all
	// fields except matchLabels, or Multiple.
	Mode string `json:"mode,omitempty"`

	sdk.Selector `json:",inline"`
}
