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

// ErrNotLegacy says that there is nothing to convert: an object is another one
// than a legacy Composition, such as a pipeline.
var ErrNotLegacy = errors.New("it is no legacy Composition")

// A Note says what of a Composition its pipeline does not have, or will do in
// another way. It is an error, for whom it is one.
type Note struct {
	// Field is that of the Composition, as in "spec.resources[0].patches[1]".
	Field string
	// Text is about the field, and does not name it.
	Text string
}

// Error returns "field: text".
func (n Note) Error() string { return n.Field + ": " + n.Text }

// At returns the note as an error at its line of the file, where lines are those
// of the Composition's document.
func (n Note) At(path string, lines manifest.Lines) error {
	return &manifest.Error{Path: path, Line: lines.Of(n.Field), Err: n}
}

// Names are those of the Functions that a pipeline calls.
type Names struct {
	// PatchAndTransform is function-patch-and-transform if empty.
	PatchAndTransform string
	// EnvironmentConfigs is function-environment-configs if empty.
	EnvironmentConfigs string
}

// Is reports whether obj is a legacy Composition: of mode Resources, or of no
// mode, and with resources or functions of its own.
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

// HasFunctions reports whether obj is a legacy Composition that calls functions
// of the alpha, which a pipeline cannot call.
func HasFunctions(obj map[string]any) bool {
	spec, _ := specOf(obj)
	functions, isList := spec["functions"].([]any)
	return Is(obj) && spec["functions"] != nil && (!isList || len(functions) > 0)
}

// specOf returns the spec of a Composition.
func specOf(obj map[string]any) (map[string]any, bool) {
	u := unstructured.Unstructured{Object: obj}
	if gvk := u.GroupVersionKind(); gvk.Group != apiextv1.Group || gvk.Kind != apiextv1.CompositionKind {
		return nil, false
	}
	spec, ok := obj["spec"].(map[string]any)
	return spec, ok
}

// Convert returns the pipeline that a legacy Composition is, and what it could
// not carry over. The values of obj are
// those of JSON, as a manifest.Document has them. It is not changed, but shares
// what is not converted with the pipeline.
//
// The error is ErrNotLegacy if Is(obj) is false, and else a Note on what keeps
// the Composition from being converted: a field holds what it cannot hold, or
// there is nothing that it composes. The field may lack the indexes of lists.
func Convert(obj map[string]any, to Names) (map[string]any, []Note, error) {
	if !Is(obj) {
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
		c.note("spec.publishConnectionDetailsWithStoreConfigRef", "a Composition has no such field any more: external secret stores are gone from Crossplane")
	}
	spec := maps.Clone(was)
	for _, gone := range converted {
		delete(spec, gone)
	}
	delete(spec, "publishConnectionDetailsWithStoreConfigRef")
	spec["mode"], spec["pipeline"] = "Pipeline", pipeline
	out := maps.Clone(obj)
	out["spec"] = spec
	return out, c.notes, nil
}

// converter gathers the notes of one conversion.
type converter struct {
	notes []Note
	steps stepNames
}

func (c *converter) note(field, format string, args ...any) {
	c.notes = append(c.notes, Note{Field: field, Text: fmt.Sprintf(format, args...)})
}

// pipeline returns the steps: the environment is made before it is patched, and
// the functions of the alpha got what the resources made.
func (c *converter) pipeline(old spec, to Names) ([]any, error) {
	var steps []any
	input, err := c.environmentInput(old.Environment)
	if err != nil {
		return nil, err
	}
	if input != nil {
		steps = append(steps, c.step("environment-configs", cmp.Or(to.EnvironmentConfigs, "function-environment-configs"), input))
	}
	if input, err = c.resourcesInput(old); err != nil {
		return nil, err
	}
	if input != nil {
		steps = append(steps, c.step("patch-and-transform", cmp.Or(to.PatchAndTransform, "function-patch-and-transform"), input))
	}
	steps = append(steps, c.functionSteps(old.Functions)...)
	steps = append(steps, c.ownSteps(old)...)
	if len(steps) == 0 {
		return nil, Note{"spec.resources", "a Composition of mode Resources must have resources"}
	}
	return steps, nil
}

// ownSteps returns the pipeline that the Composition has itself. It only counts
// if there is nothing else.
func (c *converter) ownSteps(old spec) []any {
	if len(old.Pipeline) == 0 {
		return nil
	}
	if len(old.Resources) > 0 || len(old.Functions) > 0 {
		c.note("spec.pipeline", "a Composition of mode Resources does not run its pipeline, so it is left out")
		return nil
	}
	c.note("spec.mode", "the pipeline is taken, since there are no resources: Crossplane would refuse the Composition")
	steps := make([]any, len(old.Pipeline))
	for i, step := range old.Pipeline {
		steps[i] = step
	}
	return steps
}

// step returns a step of the pipeline. Without an input it has none.
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

// stepNames counts how often each name was asked for.
type stepNames map[string]int

// unique returns the name, or if it is taken, one that begins with it.
func (s stepNames) unique(name string) string {
	free := name
	for s[free] > 0 {
		s[name]++
		free = fmt.Sprintf("%s-%d", name, s[name])
	}
	s[free]++
	return free
}
