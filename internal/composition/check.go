package composition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	kjson "sigs.k8s.io/json"
)

// A ProblemKind says what is wrong with a Composition. Which kinds an engine
// fails on differs from version to version; the API server refuses or drops
// every one of them, except for UnknownFunction, and for NotCarried, which is
// what a legacy Composition is that its pipeline is not.
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
	NotCarried                  ProblemKind = "NotCarried"
)

// A Problem is one thing that is wrong with a Composition, and where. It is an
// error, for whom it is one.
type Problem struct {
	Kind ProblemKind
	// Path and Line are the file, as the user named it, and the line of it on
	// which Field stands, or should stand.
	Path string
	Line int
	// Field is as in "spec.pipeline[0].step".
	Field string
	// Text says what is wrong with the field.
	Text string
	// Warning says that the Composition may be taken all the same. Check says
	// it of nothing.
	Warning bool
}

// Error returns "path:line: field: text".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.Path, p.Line, p.Field, p.Text)
}

// Check returns all that is wrong with a Composition, by line. It does not look
// into the inputs of functions. The function known says whether there is a
// function of a name; nil means that all are there. Of unknown fields the first
// hundred count.
func Check(e Entry, known func(function string) bool) []Problem {
	var found problems
	found.checkMode(e)
	steps := names{}
	for i, step := range e.Spec.Pipeline {
		at := fmt.Sprintf("spec.pipeline[%d]", i)
		found.checkName(steps, at, "step", step.Step, StepWithoutName, DuplicateStep)
		found.checkFunction(at, step, known)
		found.checkCredentials(at, step.Credentials)
		found.checkRequirements(at, step.Requirements)
	}
	if e.refused.Field == "" {
		found.checkFields(e.object)
	}
	for _, note := range e.Notes {
		found.add(NotCarried, note.Field, "%s", note.Text)
	}
	if len(found) == 0 {
		return nil
	}
	lines := e.Document.Lines()
	for i, p := range found {
		at := p.Field
		if e.origin != "" && strings.HasPrefix(at, "spec.pipeline[") {
			at = e.origin
		}
		found[i].Path, found[i].Line = e.Document.Path, lines.Of(at)
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
		ps.add(UnknownMode, "spec.mode", "no mode is set, and only Pipeline and Resources can be rendered")
	default:
		// What such a mode has in place of a pipeline is not looked at.
		ps.add(UnknownMode, "spec.mode", "%q is not a mode that can be rendered: only Pipeline and Resources are", e.Spec.Mode)
		return
	}
	if len(e.Spec.Pipeline) == 0 {
		ps.add(EmptyPipeline, "spec.pipeline", "the pipeline has no steps")
	}
}

// names is where each name of a list was seen first.
type names map[string]string

// checkName checks the name of an element of a list, in which it has to be set
// and to occur once. An empty one that occurs again is both missing and a
// duplicate, since some engines only fail on the latter.
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

func (ps *problems) checkFunction(at string, step apiextv1.PipelineStep, known func(string) bool) {
	at += ".functionRef.name"
	switch name := step.FunctionRef.Name; {
	case name == "":
		ps.add(StepWithoutFunction, at, "the step %q names no function", step.Step)
	case known != nil && !known(name):
		ps.add(UnknownFunction, at, "the step %q calls function %q, which is not there", step.Step, name)
	}
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
				ps.add(CredentialWithoutSecret, at+".secretRef.name", "the source is a Secret, but none is named")
			}
		default:
			ps.add(UnknownCredentialSource, at+".source", "%q is not a source: Secret and None are", c.Source)
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
			ps.add(RequirementByNameAndByLabel, at+".matchLabels", "resources are selected by name, too, and only one of the two can count")
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

// checkFields looks for fields that a Composition does not have. Decoding has
// passed them over, so whether the object can be decoded is not checked.
func (ps *problems) checkFields(obj map[string]any) {
	data, err := json.Marshal(obj)
	if err != nil {
		return
	}
	unknown, err := kjson.UnmarshalStrict(data, &apiextv1.Composition{}, kjson.DisallowUnknownFields)
	if err != nil {
		return
	}
	for _, err := range unknown {
		var field kjson.FieldError
		if errors.As(err, &field) {
			ps.add(UnknownField, field.FieldPath(), "a Composition has no such field, so the API server drops it")
		}
	}
}
