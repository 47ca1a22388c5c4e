package check

import (
	"encoding/json"
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
)

// A source is an input of function-patch-and-transform, and the path of the input
// in the document. For a converted legacy Composition the path is "spec".
type source struct {
	*spec.Resources
	at     string
	legacy bool
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

// A legacyComposition has the data of a legacy Composition that its conversion to
// a pipeline does not preserve.
type legacyComposition struct {
	is        bool
	resources []struct{ Name string }
	hasInput  bool
}

func legacyOf(e composition.Entry) (was legacyComposition) {
	if !e.Converted && e.Spec.Mode == apiextv1.CompositionModePipeline {
		return was
	}
	obj, err := e.Document.Object()
	if err != nil || !legacy.Is(obj) || legacy.HasFunctions(obj) {
		return was
	}
	var old struct {
		Spec struct {
			Resources   []struct{ Name string }
			Environment struct{ Patches []any }
		}
	}
	// The error is ignored, because the conversion to a pipeline reports it.
	if err := e.Document.Decode(&old); err != nil {
		return was
	}
	return legacyComposition{is: true, resources: old.Spec.Resources, hasInput: len(old.Spec.Resources)+len(old.Spec.Environment.Patches) > 0}
}

// names checks that a legacy Composition has resources, and that either all or
// none of these have names.
func (c *checker) names(was legacyComposition) {
	if len(was.resources) == 0 {
		c.add(EmptyResources, "spec.resources", "a Composition of mode Resources must have resources")
		return
	}
	i := slices.IndexFunc(was.resources, func(r struct{ Name string }) bool { return r.Name == "" })
	if i >= 0 && slices.ContainsFunc(was.resources, func(r struct{ Name string }) bool { return r.Name != "" }) {
		c.add(NamedAndUnnamed, fmt.Sprintf("spec.resources[%d].name", i), "no name is set, but other resources have one: set all names or none")
	}
}

// inputs returns the inputs for function-patch-and-transform in a pipeline.
func (c *checker) inputs(e composition.Entry, was legacyComposition) []source {
	var all []source
	for i, step := range e.Spec.Pipeline {
		if step.Input == nil || !isInput(step.Input.Raw) {
			continue
		}
		in := source{Resources: &spec.Resources{}, at: fmt.Sprintf("spec.pipeline[%d].input", i)}
		if e.Converted && was.hasInput && len(all) == 0 {
			in.at, in.legacy = "spec", true
		}
		if c.decode(step.Input.Raw, in) {
			all = append(all, in)
		}
	}
	return all
}

// isInput reports whether an input is for function-patch-and-transform.
func isInput(raw []byte) bool {
	var of struct{ APIVersion, Kind string }
	_ = json.Unmarshal(raw, &of)
	return of.Kind == "Resources" && strings.HasPrefix(of.APIVersion, "pt.fn.crossplane.io/")
}

// decode decodes an input strictly, as function-patch-and-transform does. It
// reports errors as problems, and returns false if a field has the wrong type.
func (c *checker) decode(raw []byte, in source) bool {
	unknown, err := kjson.UnmarshalStrict(raw, in.Resources, kjson.DisallowUnknownFields)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		field, value, ok := spec.SplitTypeError(err)
		if ok {
			kind, _, _ := strings.Cut(value, " ")
			text = "cannot decode a JSON " + kind
		}
		c.add(InvalidInput, strings.TrimSuffix(in.at+"."+field, "."), "%s", text)
		return false
	}
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			c.add(InvalidInput, in.at+"."+field.FieldPath(), "function-patch-and-transform has no such field and rejects its input%s", composition.DidYouMean(reflect.TypeOf(in.Resources), field.FieldPath()))
		}
	}
	return true
}
