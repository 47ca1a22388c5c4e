package composition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A ProblemKind is the rule that a Composition violates. Versions of Crossplane differ in
// the kinds of problems that make a render fail. The API server rejects a Composition with
// most of these problems, or drops the unknown fields. It accepts UnknownFunction and
// NotCarried. NotCarried means that the conversion of a legacy Composition loses a field.
// LegacyField is a field of Crossplane v1 that only the API server of Crossplane v2 drops.
type ProblemKind string

// The kinds of problems.
const (
	UnknownMode                 ProblemKind = "UnknownMode"
	EmptyPipeline               ProblemKind = "EmptyPipeline"
	StepWithoutName             ProblemKind = "StepWithoutName"
	DuplicateStep               ProblemKind = "DuplicateStep"
	StepWithoutFunction         ProblemKind = "StepWithoutFunction"
	UnknownFunction             ProblemKind = "UnknownFunction"
	CredentialWithoutName       ProblemKind = "CredentialWithoutName"
	DuplicateCredential         ProblemKind = "DuplicateCredential"
	UnknownCredentialSource     ProblemKind = "UnknownCredentialSource"
	CredentialWithoutSecret     ProblemKind = "CredentialWithoutSecret"
	RequirementWithoutName      ProblemKind = "RequirementWithoutName"
	DuplicateRequirement        ProblemKind = "DuplicateRequirement"
	RequirementWithoutType      ProblemKind = "RequirementWithoutType"
	RequirementByNameAndByLabel ProblemKind = "RequirementByNameAndByLabel"
	UnknownField                ProblemKind = "UnknownField"
	LegacyField                 ProblemKind = "LegacyField"
	NotCarried                  ProblemKind = "NotCarried"
)

// A Problem is an error or a warning about a field of a Composition.
type Problem struct {
	Kind ProblemKind
	// Path and Line are the file and the line where Field is or should be.
	Path string
	Line int
	// Field is a path, such as "spec.pipeline[0].step".
	Field string
	// Text is the message, without the field.
	Text string
	// Warning is true for a problem that does not prevent a render.
	Warning bool
}

// Error returns "path:line: field: text".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.Path, p.Line, p.Field, p.Text)
}

// Check returns the problems of a Composition, sorted by line. It does not check
// the inputs of functions, and reports at most a hundred unknown fields. known
// reports whether a function exists. If known is nil, all functions exist.
func Check(e Entry, known func(function string) bool) []Problem {
	var found problems
	found.checkMode(e)
	steps := names{}
	for i, step := range e.Spec.Pipeline {
		at := fmt.Sprintf("spec.pipeline[%d]", i)
		found.checkName(steps, at, "step", step.Step, StepWithoutName, DuplicateStep)
		switch at, name := at+".functionRef.name", step.FunctionRef.Name; {
		case name == "":
			found.add(StepWithoutFunction, at, "the step %q has no function name", step.Step)
		case known != nil && !known(name):
			found.add(UnknownFunction, at, "the step %q calls the function %q, which was not found", step.Step, name)
		}
		found.checkCredentials(at, step.Credentials)
		found.checkRequirements(at, step.Requirements)
	}
	if e.refused.Field == "" && e.operation == "" {
		found.checkFields(e.object, e.Converted)
	}
	for _, note := range e.Notes {
		kind := NotCarried
		if note.IsDropped {
			kind = UnknownField
		}
		found.add(kind, note.Field, "%s", note.Text)
	}
	for i, p := range found {
		found[i].Field = e.DocumentField(p.Field)
	}
	if e.operation != "" {
		found.checkOperation(e)
	}
	if len(found) == 0 {
		return nil
	}
	lines := e.Document.Lines()
	for i, p := range found {
		found[i].Path, found[i].Line = e.Document.Path, lines.Of(p.Field)
	}
	slices.SortStableFunc(found, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return found
}

type problems []Problem

func (ps *problems) add(kind ProblemKind, field, format string, args ...any) {
	*ps = append(*ps, Problem{Kind: kind, Field: field, Text: fmt.Sprintf(format, args...)})
}

func (ps *problems) checkMode(e Entry) {
	if e.refused.Field != "" {
		ps.add(UnknownMode, e.refused.Field, "%s", e.refused.Text)
		return
	}
	switch e.Spec.Mode {
	case apiextv1.CompositionModePipeline:
	case "":
		if e.operation != "" {
			break // An Operation has only one mode.
		}
		ps.add(UnknownMode, "spec.mode", "no mode is set: only Pipeline and Resources are supported")
	default:
		if e.operation != "" {
			ps.add(UnknownMode, "spec.mode", "expected mode Pipeline, got %q", e.Spec.Mode)
			break
		}
		// The fields of a Composition with an unknown mode are not checked.
		ps.add(UnknownMode, "spec.mode", "expected mode Pipeline or Resources, got %q", e.Spec.Mode)
		return
	}
	if len(e.Spec.Pipeline) == 0 {
		ps.add(EmptyPipeline, "spec.pipeline", "the pipeline has no steps")
	}
}

// names maps each name in a list to the path of the first element with this name.
type names map[string]string

// checkName checks that the name of a list element is set and unique. A second
// empty name is reported as a duplicate, too, because some versions of Crossplane
// reject duplicates but not empty names.
func (ps *problems) checkName(seen names, at, key, name string, missing, duplicate ProblemKind) {
	if name == "" {
		ps.add(missing, at+"."+key, "no name is set")
	}
	if first, ok := seen[name]; ok {
		ps.add(duplicate, at+"."+key, "the name %q is also the name of %s", name, first)
		return
	}
	seen[name] = at
}

func (ps *problems) checkCredentials(step string, all []apiextv1.FunctionCredentials) {
	seen := names{}
	for i, c := range all {
		at := fmt.Sprintf("%s.credentials[%d]", step, i)
		ps.checkName(seen, at, "name", c.Name, CredentialWithoutName, DuplicateCredential)
		switch c.Source {
		case apiextv1.FunctionCredentialsSourceNone:
		case apiextv1.FunctionCredentialsSourceSecret:
			if c.SecretRef == nil || c.SecretRef.Name == "" {
				ps.add(CredentialWithoutSecret, at+".secretRef.name", "source Secret requires the name of a Secret")
			}
		default:
			ps.add(UnknownCredentialSource, at+".source", "expected source Secret or None, got %q", c.Source)
		}
	}
}

func (ps *problems) checkRequirements(step string, r *apiextv1.FunctionRequirements) {
	if r == nil {
		return
	}
	resources, schemas := names{}, names{}
	for i, s := range r.RequiredResources {
		at := fmt.Sprintf("%s.requirements.requiredResources[%d]", step, i)
		ps.checkRequirement(resources, at, s.RequirementName, s.APIVersion, s.Kind)
		if s.Name != nil && len(s.MatchLabels) > 0 {
			ps.add(RequirementByNameAndByLabel, at+".matchLabels", "matchName and matchLabels must not both be set")
		}
	}
	for i, s := range r.RequiredSchemas {
		at := fmt.Sprintf("%s.requirements.requiredSchemas[%d]", step, i)
		ps.checkRequirement(schemas, at, s.RequirementName, s.APIVersion, s.Kind)
	}
}

func (ps *problems) checkRequirement(seen names, at, name, apiVersion, kind string) {
	ps.checkName(seen, at, "requirementName", name, RequirementWithoutName, DuplicateRequirement)
	if apiVersion == "" {
		ps.add(RequirementWithoutType, at+".apiVersion", "no apiVersion is set")
	}
	if kind == "" {
		ps.add(RequirementWithoutType, at+".kind", "no kind is set")
	}
}

// checkFields reports fields that a Composition does not define. isLegacy is true for a
// Composition of mode Resources.
func (ps *problems) checkFields(obj map[string]any, isLegacy bool) {
	data, err := json.Marshal(obj)
	if err != nil {
		return
	}
	for _, field := range unknownFields(data, &apiextv1.Composition{}) {
		if schema.LegacyField(apiextv1.CompositionKind, field) {
			ps.add(LegacyField, field, "Crossplane v2 removed this field of a Composition, and its API server drops it")
			continue
		}
		ps.add(UnknownField, field, "unknown field of a Composition: the API server drops it%s", didYouMean(isLegacy, field))
	}
}

// unknownFields returns the paths of fields in data that the type of into does not define.
func unknownFields(data []byte, into any) (fields []string) {
	unknown, err := kjson.UnmarshalStrict(data, into, kjson.DisallowUnknownFields)
	if err != nil {
		return nil
	}
	for _, err := range unknown {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			fields = append(fields, field.FieldPath())
		}
	}
	return fields
}

// didYouMean returns the end of a message about an unknown field of a Composition. For a
// legacy Composition, it also suggests the fields that only this mode has.
func didYouMean(isLegacy bool, path string) string {
	if text := schema.DidYouMean(reflect.TypeFor[apiextv1.Composition](), path); text != "" || !isLegacy {
		return text
	}
	return hint.DidYouMean(strings.TrimPrefix(hint.Nearest(path, schema.LegacyFields(apiextv1.CompositionKind)), "spec."))
}
