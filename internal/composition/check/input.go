package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/schema"
)

// InputKinds returns the steps whose input has another apiVersion or kind than that of the
// function that the step calls. official returns the official function that a name in
// functionRef resolves to, or "".
func InputKinds(e composition.Entry, inputs composition.Inputs, official func(name string) string) []composition.Problem {
	var found []composition.Problem
	for i, step := range e.Spec.Pipeline {
		known, ok := inputs.Named(official(step.FunctionRef.Name))
		if ok && step.Input != nil {
			found = append(found, inputKind(e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input", i)), step.Input.Raw, known)...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	lines := e.Document.Lines()
	for i, p := range found {
		found[i].Path, found[i].Line = e.Document.Path, lines.Of(p.Field)
	}
	return found
}

// inputKind compares the apiVersion and kind of an input with those of a known input. The
// functions ignore both, but other tools validate an input by them.
func inputKind(at string, raw []byte, known composition.Input) []composition.Problem {
	var got struct{ APIVersion, Kind string }
	// The error is ignored, because decoding the whole input reports it.
	_ = json.Unmarshal(raw, &got)
	if got.APIVersion == "" && got.Kind == "" {
		return nil // The schema of Compositions requires both.
	}
	apiVersion, kind := known.ToAPIVersionAndKind()
	var found []composition.Problem
	for _, f := range []struct{ field, got, want string }{{"apiVersion", got.APIVersion, apiVersion}, {"kind", got.Kind, kind}} {
		if f.got != f.want {
			text := fmt.Sprintf("the %s of inputs of %s is %s, got %q", f.field, known.Function, f.want, f.got)
			found = append(found, composition.Problem{Kind: WrongInputKind, Field: at + "." + f.field, Text: text})
		}
	}
	return found
}

// bySchema validates an input against the schema of its kind. It returns false if there is
// no such schema. An input is no API object, so it needs no metadata.
func (c *checker) bySchema(ctx context.Context, at string, input map[string]any) bool {
	apiVersion, _ := input["apiVersion"].(string)
	kind, _ := input["kind"].(string)
	gvk := kschema.FromAPIVersionAndKind(apiVersion, kind)
	def := c.Schemas(gvk.GroupKind())
	if def == nil {
		return false
	}
	if err := def.Serves(gvk.Version); err != nil {
		c.add(WrongInputKind, at+".apiVersion", "%s of %s: %v", kind, gvk.Group, err)
		return true
	}
	faults, err := def.Validate(ctx, input, schema.Options{Embedded: true})
	if err != nil {
		return false
	}
	for _, f := range faults {
		if f.Unchecked {
			continue
		}
		text := f.Text
		if f.Nearest != "" {
			text += ", did you mean " + f.Nearest + "?"
		}
		c.note(false, InvalidInput, strings.TrimSuffix(at+"."+f.Field, "."), text)
	}
	return true
}
