package legacy

import "slices"

// environment has the sources of a Composition's environment, and its patches.
type environment struct {
	DefaultData        map[string]any      `json:"defaultData,omitempty"`
	EnvironmentConfigs []environmentSource `json:"environmentConfigs,omitempty"`
	Patches            []patch             `json:"patches,omitempty"`
	Policy             struct {
		Resolve    string `json:"resolve,omitempty"`
		Resolution string `json:"resolution,omitempty"`
	} `json:"policy,omitzero"`
}

type environmentSource struct {
	Type     string               `json:"type,omitempty"`
	Ref      *environmentRef      `json:"ref,omitempty"`
	Selector *environmentSelector `json:"selector,omitempty"`
}

type environmentRef struct {
	Name string `json:"name"`
}

type environmentSelector struct {
	Mode            string         `json:"mode,omitempty"`
	MaxMatch        *uint64        `json:"maxMatch,omitempty"`
	MinMatch        *uint64        `json:"minMatch,omitempty"`
	SortByFieldPath string         `json:"sortByFieldPath,omitempty"`
	MatchLabels     []labelMatcher `json:"matchLabels,omitempty"`
}

type labelMatcher struct {
	Type                string  `json:"type,omitempty"`
	Key                 string  `json:"key"`
	Value               *string `json:"value,omitempty"`
	ValueFromFieldPath  *string `json:"valueFromFieldPath,omitempty"`
	FromFieldPathPolicy string  `json:"fromFieldPathPolicy,omitempty"`
}

// environmentInput returns the input of function-environment-configs, or nil if
// there are no sources.
func (c *converter) environmentInput(e environment) (map[string]any, error) {
	if len(e.DefaultData) == 0 && len(e.EnvironmentConfigs) == 0 {
		return nil, nil
	}
	isSelector := func(s environmentSource) bool { return s.Type == "Selector" }
	if slices.ContainsFunc(e.EnvironmentConfigs, isSelector) && e.Policy.Resolve != "Always" {
		c.note("spec.environment.policy.resolve", "function-environment-configs selects again in each reconcile, like Always; the default, IfNotPresent, keeps the first selection")
	}
	e.Patches, e.Policy.Resolve = nil, ""
	return object(struct {
		APIVersion string      `json:"apiVersion"`
		Kind       string      `json:"kind"`
		Spec       environment `json:"spec"`
	}{"environmentconfigs.fn.crossplane.io/v1beta1", "Input", e})
}
