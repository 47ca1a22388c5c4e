package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

type typeRef = apiextv1.TypeReference

// A source is an input of function-patch-and-transform, and the field of the
// document that it is in: a legacy Composition is one itself.
type source struct {
	*spec.Resources
	at     string
	legacy bool
}

// below returns the field of the document for one of the input.
func (s source) below(format string, args ...any) string {
	return s.at + "." + fmt.Sprintf(format, args...)
}

// A legacyComposition is what a Composition of mode Resources says that its
// pipeline does not.
type legacyComposition struct {
	is        bool
	resources []struct{ Name string }
	// makes says that the pipeline has an input that came of it.
	makes bool
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
	// One that does not fit could not be converted either, which is a problem.
	if err := e.Document.Decode(&old); err != nil {
		return was
	}
	return legacyComposition{is: true, resources: old.Spec.Resources, makes: len(old.Spec.Resources)+len(old.Spec.Environment.Patches) > 0}
}

// says reports whether a problem is one of those that names finds, too.
func (was legacyComposition) says(p composition.Problem) bool {
	return p.Field == "spec.resources" && (p.Kind == composition.UnknownMode || p.Kind == composition.NotCarried)
}

// names checks which resources are there, and which have names.
func (c *checker) names(was legacyComposition) {
	if len(was.resources) == 0 {
		c.add(EmptyResources, "spec.resources", "there are none, and a Composition of mode Resources composes nothing else")
		return
	}
	unnamed := func(r struct{ Name string }) bool { return r.Name == "" }
	i := slices.IndexFunc(was.resources, unnamed)
	if i >= 0 && slices.ContainsFunc(was.resources, func(r struct{ Name string }) bool { return !unnamed(r) }) {
		c.add(NamedAndUnnamed, fmt.Sprintf("spec.resources[%d].name", i), "no name is set, but other resources have one: all must have names, or none")
	}
}

// inputs returns the inputs of function-patch-and-transform in a pipeline.
func (c *checker) inputs(e composition.Entry, was legacyComposition) []source {
	var all []source
	for i, step := range e.Spec.Pipeline {
		if step.Input == nil || !isInput(step.Input.Raw) {
			continue
		}
		in := source{Resources: &spec.Resources{}, at: fmt.Sprintf("spec.pipeline[%d].input", i)}
		if e.Converted && was.makes && len(all) == 0 {
			in.at, in.legacy = "spec", true
		}
		if c.decode(step.Input.Raw, in) {
			all = append(all, in)
		}
	}
	return all
}

// isInput reports whether the input of a step is for function-patch-and-transform,
// by whatever name that is called.
func isInput(raw []byte) bool {
	var of struct{ APIVersion, Kind string }
	// An error is one about other fields, or leaves nothing.
	_ = json.Unmarshal(raw, &of)
	return of.Kind == "Resources" && strings.HasPrefix(of.APIVersion, "pt.fn.crossplane.io/")
}

// decode decodes an input as the function does, which refuses fields that it
// does not know. Of these the first hundred count.
func (c *checker) decode(raw []byte, in source) bool {
	unknown, err := kjson.UnmarshalStrict(raw, in.Resources, kjson.DisallowUnknownFields)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		field, value, ok := spec.SplitTypeError(err)
		if ok {
			kind, _, _ := strings.Cut(value, " ")
			text = "it cannot be a JSON " + kind
		}
		c.add(InvalidInput, strings.TrimSuffix(in.at+"."+field, "."), "%s", text)
		return false
	}
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			c.add(InvalidInput, in.at+"."+field.FieldPath(), "function-patch-and-transform has no such field, and refuses its input")
		}
	}
	return true
}
