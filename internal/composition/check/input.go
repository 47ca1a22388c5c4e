package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/schema"
)

// InputKinds returns the problems of the inputs of steps: an apiVersion or kind that does not
// belong to the function that the step calls, values that the function ignores, and, for Quiet
// functions, invalid fields. official returns the official function that a name in functionRef
// resolves to, or "".
func InputKinds(e composition.Entry, inputs composition.Inputs, official func(name string) string) []composition.Problem {
	var found []composition.Problem
	for i, step := range e.Spec.Pipeline {
		known, ok := inputs.Named(official(step.FunctionRef.Name), kschema.GroupKind{})
		if ok && step.Input != nil {
			at := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input", i))
			found = append(found, inputKind(at, step.Input.Raw, known)...)
			if len(known.Values) == 0 && !known.Quiet {
				continue
			}
			if obj, _, ok := inputObject(step); ok {
				found = append(found, ignored(at, obj, known)...)
				if known.Quiet {
					found = append(found, invalid(at, step.Input.Raw, obj, known)...)
				}
			}
		}
	}
	return located(e, found)
}

// invalid returns warnings of the fields of an input that the function cannot decode or compile.
func invalid(at string, raw []byte, obj map[string]any, known composition.Input) []composition.Problem {
	c := &checker{Options: Options{Mode: NoSchemas}, seen: map[string]bool{}}
	c.decode(raw, at, known.Function, reflect.New(known.Type).Interface())
	c.values(at, obj, known)
	for i := range c.problems {
		c.problems[i].Warning = true
	}
	return c.problems
}

// Silent returns the mistakes that functions accept and that need no schema: steps in the wrong
// order and, in the inputs of function-patch-and-transform, patches to a field of the composite
// resource that Crossplane does not apply, patches from a field that no composite resource has,
// patches inside of a base, and several resources with one name. official is as in InputKinds.
// hasEnvironment is true if the pipeline begins with an environment.
func Silent(ctx context.Context, e composition.Entry, inputs composition.Inputs, official func(name string) string, hasEnvironment bool) []composition.Problem {
	c := patchChecker(ctx, e, inputs, noSchemas)
	for _, in := range c.inputs(ctx, e) {
		if in.other == "" {
			c.templatesIntegrity(in, nil)
		}
	}
	c.order(e, official, hasEnvironment)
	silent := []composition.ProblemKind{DuplicateResource, InsideBase, OutsideStatus, NoRootField, OutOfOrder}
	return located(e, slices.DeleteFunc(c.problems, func(p composition.Problem) bool { return !slices.Contains(silent, p.Kind) }))
}

// PackageInputs validates the inputs of the steps whose functions have inputs with a Schema.
func PackageInputs(ctx context.Context, e composition.Entry, inputs composition.Inputs) []composition.Problem {
	if len(inputs) == 0 {
		return nil
	}
	c := &checker{seen: map[string]bool{}}
	for i, step := range e.Spec.Pipeline {
		obj, gvk, ok := inputObject(step)
		if known, named := inputs.Named(step.FunctionRef.Name, gvk.GroupKind()); ok && named && known.Schema != nil {
			c.packageInput(ctx, e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input", i)), obj, known)
		}
	}
	return located(e, c.problems)
}

func located(e composition.Entry, found []composition.Problem) []composition.Problem {
	if len(found) == 0 {
		return nil
	}
	lines := e.Document.Lines()
	for i, p := range found {
		found[i].Path = e.Document.Path
		if p.Line > 0 {
			found[i].Line = lines.OfText(p.Field, p.Line)
		} else {
			found[i].Line = lines.Of(p.Field)
		}
	}
	return found
}

func inputObject(step apiextv1.PipelineStep) (obj map[string]any, gvk kschema.GroupVersionKind, ok bool) {
	if step.Input == nil || kjson.UnmarshalCaseSensitivePreserveInts(step.Input.Raw, &obj) != nil || obj == nil {
		return nil, gvk, false
	}
	return obj, (&unstructured.Unstructured{Object: obj}).GroupVersionKind(), true
}

// packageInput validates an input by the CRD of the function's package. If the apiVersion or
// kind is wrong, the fields are validated as if both were right.
func (c *checker) packageInput(ctx context.Context, at string, input map[string]any, known composition.Input) {
	u := &unstructured.Unstructured{Object: maps.Clone(input)}
	if gvk := u.GroupVersionKind(); gvk.Group == known.Group && known.Schema.Serves(gvk.Version) == nil {
		known.Version = gvk.Version
	}
	for _, p := range kindProblems(at, u.GetAPIVersion(), u.GetKind(), known) {
		c.note(false, p.Kind, p.Field, p.Text)
	}
	u.SetGroupVersionKind(known.GroupVersionKind)
	c.fields(ctx, at, u.Object, known.Schema)
}

// inputKind compares the apiVersion and kind of an input with the apiVersion and kind of
// a known input. The functions ignore both, but other tools validate an input by them.
func inputKind(at string, raw []byte, known composition.Input) []composition.Problem {
	var got struct{ APIVersion, Kind string }
	// The error is ignored, because decoding the whole input reports it.
	_ = json.Unmarshal(raw, &got)
	return kindProblems(at, got.APIVersion, got.Kind, known)
}

func kindProblems(at, gotVersion, gotKind string, known composition.Input) []composition.Problem {
	if gotVersion == "" && gotKind == "" {
		return nil // The schema of Compositions requires both.
	}
	apiVersion, kind := known.ToAPIVersionAndKind()
	var found []composition.Problem
	for _, f := range []struct{ field, got, want string }{{"apiVersion", gotVersion, apiVersion}, {"kind", gotKind, kind}} {
		if f.got != f.want {
			text := fmt.Sprintf("the %s of inputs of %s is %s, got %q", f.field, known.Function, f.want, f.got)
			found = append(found, composition.Problem{Kind: WrongInputKind, Field: at + "." + f.field, Text: text})
		}
	}
	return found
}

// bySchema validates an input against the schema of its kind. It returns false if there is
// no such schema. An input is not an API object, so it needs no metadata.
func (c *checker) bySchema(ctx context.Context, at string, input map[string]any, gvk kschema.GroupVersionKind) bool {
	def := c.Schemas(gvk.GroupKind())
	if def == nil {
		return false
	}
	if err := def.Serves(gvk.Version); err != nil {
		c.add(WrongInputKind, at+".apiVersion", "%s of %s: %v", gvk.Kind, gvk.Group, err)
		return true
	}
	return c.fields(ctx, at, input, def)
}

// fields validates the fields of an input by its definition. It returns false if the definition
// is invalid.
func (c *checker) fields(ctx context.Context, at string, input map[string]any, def *schema.Definition) bool {
	faults, err := def.Validate(ctx, input, schema.Options{Embedded: true})
	if err != nil {
		return false
	}
	for _, f := range faults {
		if f.Unchecked {
			continue
		}
		c.note(false, InvalidInput, strings.TrimSuffix(at+"."+f.Field, "."), f.Text+hint.DidYouMean(f.Nearest))
	}
	return true
}
