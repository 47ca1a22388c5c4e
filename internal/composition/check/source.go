package check

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A source is an input of function-patch-and-transform, and the path of the input
// in the document. For a converted legacy Composition the path is "spec".
type source struct {
	*spec.Resources
	at     string
	legacy bool
	// other is the name of the step's function if it is not function-patch-and-transform.
	other string
}

// below returns the path of a field in the document. The format is the path of
// the field in the input.
func (s source) below(format string, args ...any) string {
	return s.at + "." + fmt.Sprintf(format, args...)
}

func (s source) environmentPatches() []spec.Patch {
	if s.Environment == nil {
		return nil
	}
	return s.Environment.Patches
}

func (s source) secretPatches() []spec.Patch {
	if s.WriteConnectionSecretToRef == nil {
		return nil
	}
	return s.WriteConnectionSecretToRef.Patches
}

// legacyNames returns the names of the resources of a legacy Composition, which its conversion to a
// pipeline does not preserve, and whether e is a legacy Composition.
func legacyNames(e composition.Entry) (names []string, isLegacy bool) {
	if !e.Converted && e.Spec.Mode == apiextv1.CompositionModePipeline {
		return nil, false
	}
	obj, err := e.Document.Object()
	if err != nil || !legacy.Is(obj) || legacy.HasFunctions(obj) {
		return nil, false
	}
	var old struct {
		Spec struct {
			Resources []struct{ Name string }
		}
	}
	// The error is ignored, because the conversion to a pipeline reports it.
	if err := e.Document.Decode(&old); err != nil {
		return nil, false
	}
	for _, r := range old.Spec.Resources {
		names = append(names, r.Name)
	}
	return names, true
}

// names checks that a legacy Composition has resources, and that either all or
// none of these have names.
func (c *checker) names(all []string) {
	if len(all) == 0 {
		c.add(EmptyResources, "spec.resources", "a Composition of mode Resources must have resources")
		return
	}
	i := slices.Index(all, "")
	if i >= 0 && slices.ContainsFunc(all, func(name string) bool { return name != "" }) {
		c.add(NamedAndUnnamed, fmt.Sprintf("spec.resources[%d].name", i), "no name is set, but other resources have one: set all names or none")
	}
}

// inputs checks the inputs of all steps, and returns those that have the fields of
// function-patch-and-transform.
func (c *checker) inputs(ctx context.Context, e composition.Entry) []source {
	var all []source
	for i, step := range e.Spec.Pipeline {
		if step.Input == nil {
			continue
		}
		c.other = ""
		at := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input", i))
		known := c.knownInput(ctx, at, step)
		if known.Type == nil {
			continue
		}
		in := source{Resources: &spec.Resources{}, at: at, legacy: at == "spec", other: c.other}
		into := reflect.New(known.Type).Interface()
		if resources, ok := into.(*spec.Resources); ok {
			in.Resources = resources
		}
		if c.decode(step.Input.Raw, in.at, known.Function, into) && into == any(in.Resources) {
			all = append(all, in)
		}
		if input, ok := into.(interface {
			CheckSyntax() (field string, line int, err error)
		}); ok {
			if field, line, err := input.CheckSyntax(); err != nil {
				c.add(InvalidInput, in.at+"."+field, "%v", err)
				c.problems[len(c.problems)-1].Line = line
			}
		}
	}
	c.other = ""
	return all
}

// knownInput checks the apiVersion and kind of a step's input. It returns the input of the
// function that the step calls, or else of the official function with the same API group. The
// Type is nil if neither is known, or if a CRD was found and used instead.
func (c *checker) knownInput(ctx context.Context, at string, step apiextv1.PipelineStep) composition.Input {
	obj, gvk, ok := inputObject(step)
	known, named := c.Inputs.Named(step.FunctionRef.Name, gvk.GroupKind())
	if !named {
		if !ok || c.bySchema(ctx, at, obj, gvk) {
			return composition.Input{}
		}
		if known, ok = c.Inputs.InGroup(gvk.Group); !ok {
			c.note(true, InputNotChecked, at, fmt.Sprintf("no CRD of kind %s of %s was found, so the input of function %q is not checked", gvk.Kind, gvk.GroupVersion(), step.FunctionRef.Name))
			return composition.Input{}
		}
		c.other = step.FunctionRef.Name
	}
	if known.Schema != nil {
		if ok {
			c.packageInput(ctx, at, obj, known)
		}
		return composition.Input{}
	}
	c.values(at, obj, known)
	for _, p := range slices.Concat(inputKind(at, step.Input.Raw, known), ignored(at, obj, known)) {
		c.note(p.Warning, p.Kind, p.Field, p.Text)
	}
	return known
}

// decode decodes an input strictly, as official functions do. It reports errors as
// problems, and returns false if a field has the wrong type.
func (c *checker) decode(raw []byte, at, function string, into any) bool {
	unknown, err := kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields)
	if err != nil {
		misfits := schema.Misfits(raw, reflect.TypeOf(into))
		for _, f := range misfits {
			c.add(InvalidInput, strings.TrimSuffix(at+"."+f.Field, "."), "%s", f.Err.Detail)
		}
		if len(misfits) == 0 {
			c.add(InvalidInput, at, "%s", strings.TrimPrefix(err.Error(), "json: "))
		}
		return false
	}
	for _, err := range unknown {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			c.add(InvalidInput, at+"."+field.FieldPath(), "%s has no such field and rejects its input%s", function, schema.DidYouMean(reflect.TypeOf(into), field.FieldPath()))
		}
	}
	return true
}
