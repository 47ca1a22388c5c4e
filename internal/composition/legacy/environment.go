package legacy

import (
	"cmp"
	"errors"
	"maps"

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
