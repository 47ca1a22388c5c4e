package legacy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// ErrNoEnvironment means that an object is not a Composition of mode Pipeline with an environment.
var ErrNoEnvironment = errors.New("not a Composition of mode Pipeline with an environment")

// HasEnvironment reports whether obj is a Composition of mode Pipeline with the field
// spec.environment, which Crossplane v2 removed.
func HasEnvironment(obj map[string]any) bool {
	spec, _ := specOf(obj)
	return spec["environment"] != nil && !Converts(obj) && (spec["mode"] == "Pipeline" || spec["mode"] == nil || spec["mode"] == "")
}

// ConvertEnvironment returns a Composition of mode Pipeline without spec.environment, and with a
// first step that calls a function of this name, by default function-environment-configs. If the
// environment has neither data nor a resolution policy, there is no such step. Otherwise,
// ConvertEnvironment is like Convert.
// The error is ErrNoEnvironment if HasEnvironment is false.
func ConvertEnvironment(obj map[string]any, function string) (map[string]any, []Note, error) {
	if !HasEnvironment(obj) {
		return nil, nil, ErrNoEnvironment
	}
	was, _ := specOf(obj)
	c := converter{steps: stepNames{}}
	old, err := c.decode(map[string]any{"environment": was["environment"]})
	if err != nil {
		return nil, nil, err
	}
	pipeline, isList := was["pipeline"].([]any)
	if !isList && was["pipeline"] != nil {
		return nil, nil, Note{Field: "spec.pipeline", Text: "expected a list"}
	}
	for _, step := range pipeline {
		name := fieldpath.Text(step, "step")
		c.steps.unique(name)
	}
	if len(old.Environment.Patches) > 0 {
		c.note("spec.environment.patches", "Crossplane does not apply these patches in mode Pipeline, so they are left out")
	}
	spec := maps.Clone(was)
	delete(spec, "environment")
	// The crossplane CLI adds the step for a resolution policy alone, too.
	if old.Environment.hasSources() || old.Environment.Policy.Resolution != "" {
		input, err := c.environmentInput(old.Environment)
		if err != nil {
			return nil, nil, err
		}
		spec["pipeline"] = append([]any{c.step("environment-configs", cmp.Or(function, "function-environment-configs"), input)}, pipeline...)
	}
	out := maps.Clone(obj)
	out["spec"] = spec
	return out, c.notes, nil
}

// alphaFunction is an entry of spec.functions: a container that reads a
// FunctionIO from standard input and writes a FunctionIO to standard output.
type alphaFunction struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Config    map[string]any `json:"config"`
	Container struct {
		Image            string `json:"image"`
		ImagePullPolicy  any    `json:"imagePullPolicy"`
		ImagePullSecrets any    `json:"imagePullSecrets"`
		Timeout          any    `json:"timeout"`
		Network          any    `json:"network"`
		Resources        any    `json:"resources"`
		Runner           any    `json:"runner"`
	} `json:"container"`
}

func (c *converter) functionSteps(all []alphaFunction) []any {
	var steps []any
	for i, f := range all {
		name := functionName(f.Name)
		steps = append(steps, c.step(f.Name, name, f.Config))
		at := fmt.Sprintf("spec.functions[%d].container", i)
		c.note(at+".image", "a pipeline calls servers of RunFunction, but %q reads a FunctionIO from its standard input: port the function, and install it as Function %q", f.Container.Image, name)
		for _, setting := range []struct {
			field  string
			value  any
			advice string
		}{
			{"imagePullPolicy", f.Container.ImagePullPolicy, "replaced by the Function's spec.packagePullPolicy"},
			{"imagePullSecrets", f.Container.ImagePullSecrets, "replaced by the Function's spec.packagePullSecrets"},
			{"timeout", f.Container.Timeout, "the functions of a pipeline have no timeouts of their own"},
			{"network", f.Container.Network, "the function runs in a Pod with a network, unless a NetworkPolicy restricts it"},
			{"resources", f.Container.Resources, "replaced by the Function's DeploymentRuntimeConfig"},
			{"runner", f.Container.Runner, "a pipeline has no runner: the function runs in its own Pod"},
		} {
			if setting.value != nil {
				c.note(at+"."+setting.field, "%s", setting.advice)
			}
		}
	}
	return steps
}

// functionName converts the name of an alpha function to a valid name of a Function object.
func functionName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if name = strings.Trim(name, "-."); name == "" {
		return "function"
	}
	return name
}

// environment has the sources and the patches of a Composition's environment.
type environment struct {
	DefaultData        map[string]any      `json:"defaultData,omitempty"`
	EnvironmentConfigs []environmentSource `json:"environmentConfigs,omitempty"`
	Patches            []patch             `json:"patches,omitempty"`
	Policy             struct {
		Resolve    string `json:"resolve,omitempty"`
		Resolution string `json:"resolution,omitempty"`
	} `json:"policy,omitzero"`
}

func (e environment) hasSources() bool {
	return len(e.DefaultData) > 0 || len(e.EnvironmentConfigs) > 0
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

func (c *converter) environmentInput(e environment) (map[string]any, error) {
	isSelector := func(s environmentSource) bool { return s.Type == "Selector" }
	if slices.ContainsFunc(e.EnvironmentConfigs, isSelector) && e.Policy.Resolve != "Always" {
		c.note("spec.environment.policy.resolve", "function-environment-configs selects again in each reconcile, like Always; the default, IfNotPresent, keeps the first selection")
	}
	if len(e.EnvironmentConfigs) == 0 && len(e.DefaultData) > 0 {
		c.note("spec.environment.defaultData", "function-environment-configs ignores default data if there are no environmentConfigs")
	}
	e.Patches, e.Policy.Resolve = nil, ""
	return object(struct {
		APIVersion string      `json:"apiVersion"`
		Kind       string      `json:"kind"`
		Spec       environment `json:"spec"`
	}{"environmentconfigs.fn.crossplane.io/v1beta1", "Input", e})
}
