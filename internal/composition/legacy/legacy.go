package legacy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// ErrNotLegacy means that an object is not a legacy Composition.
var ErrNotLegacy = errors.New("not a legacy Composition")

// A Note describes a part of a legacy Composition that its conversion to a
// pipeline loses or changes. Callers may use it as an error.
type Note struct {
	// Field is a path in the Composition, such as "spec.resources[0].patches[1]".
	Field string
	// Text is the message, without the field.
	Text string
	// IsDropped is true if the API server drops the field.
	IsDropped bool
}

// Error returns "field: text".
func (n Note) Error() string { return n.Field + ": " + n.Text }

// At returns the note as an error with the file and the line of its field.
func (n Note) At(path string, lines manifest.Lines) error {
	return &manifest.Error{Path: path, Line: lines.Of(n.Field), Err: n}
}

// NoResources is the note about a Composition that composes nothing.
var NoResources = Note{Field: "spec.resources", Text: "a Composition of mode Resources must have resources"}

// EnvironmentConfigs is the default name of the Function that loads EnvironmentConfigs.
const EnvironmentConfigs = "function-environment-configs"

// Names are the names of the Functions that a pipeline calls.
type Names struct {
	// PatchAndTransform defaults to function-patch-and-transform.
	PatchAndTransform string
	// EnvironmentConfigs defaults to function-environment-configs.
	EnvironmentConfigs string
}

// Is reports whether obj is a legacy Composition: of mode Resources, or without
// a mode but with resources or functions.
func Is(obj map[string]any) bool {
	spec, ok := specOf(obj)
	if !ok {
		return false
	}
	switch spec["mode"] {
	case "Resources":
		return true
	case nil, "":
		return spec["resources"] != nil || spec["functions"] != nil
	default:
		return false
	}
}

// Converts reports whether Convert converts obj: a legacy Composition, or one without a
// mode, resources and steps. Up to Crossplane v1.20, Resources is its default mode.
func Converts(obj map[string]any) bool {
	spec, ok := specOf(obj)
	steps, isList := spec["pipeline"].([]any)
	isEmpty := spec["pipeline"] == nil || isList && len(steps) == 0
	return Is(obj) || ok && isEmpty && (spec["mode"] == nil || spec["mode"] == "")
}

// HasFunctions reports whether obj calls alpha functions. They cannot be called
// from a pipeline.
func HasFunctions(obj map[string]any) bool {
	spec, _ := specOf(obj)
	functions, isList := spec["functions"].([]any)
	return Is(obj) && spec["functions"] != nil && (!isList || len(functions) > 0)
}

// specOf returns the spec of a Composition, or nil if it has none. It returns false if obj
// is not a Composition or the spec is not an object.
func specOf(obj map[string]any) (map[string]any, bool) {
	u := unstructured.Unstructured{Object: obj}
	if gvk := u.GroupVersionKind(); gvk.Group != apiextv1.Group || gvk.Kind != apiextv1.CompositionKind {
		return nil, false
	}
	spec, ok := obj["spec"].(map[string]any)
	_, given := obj["spec"]
	return spec, ok || !given
}

// Convert returns a legacy Composition as a Composition with a pipeline, and notes about
// the parts that the conversion loses or changes. The values of obj are JSON values, as in
// a manifest.Document. Convert does not change obj, but the result shares values with obj.
//
// The notes contain NoResources if the result fails for lack of resources. The error is
// ErrNotLegacy if Converts is false, or a Note that a field has the wrong type. The path
// in the Note may lack list indexes.
func Convert(obj map[string]any, to Names) (map[string]any, []Note, error) {
	if !Converts(obj) {
		return nil, nil, ErrNotLegacy
	}
	was, _ := specOf(obj)
	c := converter{steps: stepNames{}}
	old, err := c.decode(was)
	if err != nil {
		return nil, nil, err
	}
	pipeline, err := c.pipeline(old, to)
	if err != nil {
		return nil, nil, err
	}
	if was["publishConnectionDetailsWithStoreConfigRef"] != nil {
		c.note("spec.publishConnectionDetailsWithStoreConfigRef", "the field was removed from Compositions: Crossplane no longer supports external secret stores")
	}
	spec := map[string]any{}
	maps.Copy(spec, was)
	for _, gone := range converted {
		delete(spec, gone)
	}
	delete(spec, "publishConnectionDetailsWithStoreConfigRef")
	spec["mode"], spec["pipeline"] = "Pipeline", pipeline
	out := maps.Clone(obj)
	out["spec"] = spec
	return out, c.notes, nil
}

// Origins returns the fields of a legacy Composition from which Convert makes the first steps
// of the pipeline, a field for each step. The following steps are obj's own steps.
func Origins(obj map[string]any) []string {
	was, _ := specOf(obj)
	old, err := (&converter{}).decode(was)
	var origins []string
	if err == nil && old.Environment.hasSources() {
		origins = append(origins, "spec.environment")
	}
	if err == nil && old.patches() {
		origins = append(origins, "spec.resources")
	}
	return origins
}

type converter struct {
	notes []Note
	steps stepNames
}

func (c *converter) note(field, format string, args ...any) {
	c.notes = append(c.notes, Note{Field: field, Text: fmt.Sprintf(format, args...)})
}

// pipeline returns the steps of the converted pipeline, in this order: a step
// that loads the environment, a step with all resources and patches, a step for
// each alpha function, and the steps of old.Pipeline.
func (c *converter) pipeline(old spec, to Names) ([]any, error) {
	var steps []any
	if old.Environment.hasSources() {
		input, err := c.environmentInput(old.Environment)
		if err != nil {
			return nil, err
		}
		steps = append(steps, c.step("environment-configs", cmp.Or(to.EnvironmentConfigs, EnvironmentConfigs), input))
	}
	input, err := c.resourcesInput(old)
	if err != nil {
		return nil, err
	}
	if input != nil {
		steps = append(steps, c.step("patch-and-transform", cmp.Or(to.PatchAndTransform, "function-patch-and-transform"), input))
	}
	steps = append(steps, c.functionSteps(old.Functions)...)
	return append(steps, c.ownSteps(old)...), nil
}

// ownSteps returns the steps of old.Pipeline. If old also has resources or
// functions, Crossplane ignores old.Pipeline, so ownSteps returns none.
func (c *converter) ownSteps(old spec) []any {
	if len(old.Pipeline) == 0 {
		return nil
	}
	if len(old.Resources) > 0 || len(old.Functions) > 0 {
		c.note("spec.pipeline", "a Composition of mode Resources does not run its pipeline, so the pipeline is left out")
		return nil
	}
	c.note("spec.mode", "the pipeline is used, since there are no resources: Crossplane would reject the Composition")
	steps := make([]any, len(old.Pipeline))
	for i, step := range old.Pipeline {
		steps[i] = step
	}
	return steps
}

// step returns a step of the pipeline. The step has no field input if input is nil.
func (c *converter) step(name, function string, input map[string]any) map[string]any {
	step := map[string]any{
		"step":        c.steps.unique(name),
		"functionRef": map[string]any{"name": function},
	}
	if input != nil {
		step["input"] = input
	}
	return step
}

// stepNames counts the requests for each step name.
type stepNames map[string]int

// unique returns the step name, with a number as suffix if another step has the name.
func (s stepNames) unique(name string) string {
	free := name
	for s[free] > 0 {
		s[name]++
		free = fmt.Sprintf("%s-%d", name, s[name])
	}
	s[free]++
	return free
}
