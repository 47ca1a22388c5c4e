package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A Failure is an expectation of a test case that the output does not meet.
type Failure struct {
	// Path is the path of the expectation in the case: keys, and indexes as "[0]".
	Path []string `json:"-"`
	// Text is the message. It names the resource, the field and the step.
	Text string `json:"text"`
	// Hint is the next action, or "".
	Hint hint.Hint `json:"hint,omitempty"`
	// Resource is the name of the composed resource that failed, or "" for
	// the composite resource. Field is the path of the field in it, or "".
	Resource string `json:"resource,omitempty"`
	Field    string `json:"field,omitempty"`
	// Step is the pipeline step that set the field, or "".
	Step string `json:"step,omitempty"`
	// Diffs are the differences from a golden file.
	Diffs []report.DocDiff `json:"diffs,omitempty"`
}

// A Checker has the state that the checks of all cases share.
type Checker struct {
	// Expressions compiles the CEL expressions of cases.
	Expressions *Env
	// Goldens reads and updates golden files.
	Goldens Goldens
	// Validate validates objects and the Composition of the case by the schemas that the
	// case names. It does not validate objects of the kinds in ignore.
	Validate func(ctx context.Context, schemas []spec.Source, objects []map[string]any, ignore []string) ([]Fault, error)
	// OnField, if not nil, is called with each expected field that exists, and an empty text. It is
	// also called with a field that path expects to be absent, and that is absent, if its name is
	// probably misspelled. Then text is a warning.
	OnField func(field string, path []string, text string)
}

// A Fault is an error in an object that Validate found.
type Fault struct {
	// Object is the index of the validated object, or OfComposition.
	Object int
	// Field is the path of the field. Text is the message. It names the
	// field and, for a Composition, the position.
	Field, Text string
	// OfDefinition is true if the definition of the object's kind is missing or has the fault.
	OfDefinition bool
}

// OfComposition is the Object of a Fault in the Composition of the case.
const OfComposition = -1

type run struct {
	Checker
	ctx      context.Context
	form     spec.CaseSpec
	subject  *Subject
	failures []Failure
}

// Check returns a Failure for each expectation of a case that the output s does
// not meet. It updates golden files if this is enabled.
func (c Checker) Check(ctx context.Context, form spec.CaseSpec, s *Subject) []Failure {
	s.index()
	r := run{Checker: c, ctx: ctx, form: form, subject: s}
	e := form.Expect
	r.fields(place{what: "composite resource", path: []string{"expect", "xr"}}, s.XR, e.XR)
	r.fields(place{what: "Operation", path: []string{"expect", "operation"}}, s.XR, e.Operation)
	for _, name := range manifest.Keys(e.Resources) {
		r.resource(name, e.Resources[name])
	}
	r.only(e.Only)
	r.count(e.Count)
	r.results(e.Results)
	r.conditions(e.Conditions)
	r.ready(e.Ready)
	r.passes(e.Passes)
	r.fields(place{what: "context", path: []string{"expect", "context"}, unset: true}, s.Context, e.Context)
	r.fields(place{what: "connection details", path: []string{"expect", "connectionDetails"}, unset: true}, s.Connection, e.Connection)
	r.valid(e.Valid)
	for i, expr := range e.CEL {
		r.evaluate(expr, nil, func(format string, args ...any) {
			r.failf([]string{"expect", "cel", fmt.Sprintf("[%d]", i)}, format, args...)
		})
	}
	r.objects(e.Objects)
	r.assertions(e.Assertions)
	r.golden(e.Golden)
	return r.failures
}

// fail adds a failure. Its text ends with the step that set the field, if that is known.
func (r *run) fail(f Failure) {
	if f.Step != "" {
		f.Text += fmt.Sprintf(" (set by step %s)", f.Step)
	}
	r.failures = append(r.failures, f)
}

func (r *run) failf(path []string, format string, args ...any) {
	r.fail(Failure{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (r *run) failErr(path []string, err error) {
	r.fail(Failure{Path: path, Text: err.Error(), Hint: hint.Of(err)})
}

// failResource adds a failure of a composed resource, with the step that set it.
func (r *run) failResource(path []string, name string, obj map[string]any, text string) {
	step := ""
	if obj != nil {
		step = r.subject.step(r.subject.name(obj), "")
	}
	r.fail(Failure{Path: path, Resource: name, Step: step, Text: name + ": " + text})
}

func (r *run) resource(name string, e spec.Resource) {
	path := []string{"expect", "resources", name}
	obj, err := r.subject.find(name)
	_, isMissing := err.(*missingError)
	switch {
	case e.State == "absent":
		if obj != nil || !isMissing {
			r.failResource(path, name, obj, "this resource exists")
		}
	case err != nil:
		r.fail(Failure{Path: path, Resource: name, Text: err.Error()})
	default:
		r.fields(place{what: name, resource: r.subject.name(obj), path: path}, obj, e.Fields)
	}
}

// evaluate calls fail unless the CEL expression is true. self is the value of the expression's
// variable self, and may be nil.
func (r *run) evaluate(expr string, self *any, fail func(format string, args ...any)) {
	values := maps.Clone(r.subject.values())
	if values["self"] = nil; self != nil {
		values["self"] = Plain(*self)
	}
	switch ok, err := r.Expressions.Eval(r.ctx, expr, values); {
	case err != nil:
		fail("CEL %s: %v", expr, err)
	case !ok && self != nil:
		fail("CEL %s is false for %s", expr, show(*self))
	case !ok:
		fail("CEL %s is false", expr)
	}
}

// Goldens reads and writes golden files.
type Goldens interface {
	// Read returns the documents of a file. A missing file is fs.ErrNotExist.
	Read(ctx context.Context, path string) ([]map[string]any, error)
	// Text returns the text of a file. A missing file is fs.ErrNotExist.
	Text(ctx context.Context, path string) ([]byte, error)
	// Update writes docs to a golden file, if golden files are updated in
	// this run. It reports whether it wrote the file.
	Update(path string, docs []map[string]any) (bool, error)
}

func (r *run) golden(g spec.Golden) {
	path := []string{"expect", "golden"}
	s := r.subject
	if g.File != "" {
		r.compare(path, g.File, append([]map[string]any{s.Document}, s.Composed...))
	}
	if g.XR != "" {
		r.compare(append(path, "xr"), g.XR, []map[string]any{s.Document})
	}
	for _, name := range manifest.Keys(g.Resources) {
		at := append(slices.Clone(path), "resources", name)
		obj, err := s.find(name)
		if err != nil {
			r.failErr(at, err)
			continue
		}
		r.compare(at, g.Resources[name], []map[string]any{obj})
	}
}

func (r *run) compare(path []string, file string, got []map[string]any) {
	want, err := r.Goldens.Read(r.ctx, file)
	missing := errors.Is(err, fs.ErrNotExist)
	diffs := report.Compare(want, got)
	if err == nil && len(diffs) == 0 {
		return
	}
	updated, updateErr := r.Goldens.Update(file, got)
	switch {
	case updateErr != nil:
		r.failErr(path, updateErr)
	case updated:
	case missing:
		r.fail(Failure{Path: path, Text: "there is no golden file " + file + " yet", Hint: "write it with " + hint.Update})
	case err != nil:
		r.fail(Failure{Path: path, Text: err.Error(), Hint: cmp.Or(hint.Of(err), "replace it with "+hint.Update)})
	default:
		r.fail(Failure{Path: path, Text: "the output differs from " + file, Diffs: r.blamed(diffs), Hint: "if the new output is correct, write it with " + hint.Update})
	}
}

// blamed sets Step of each change in diffs to the pipeline step that set the field.
func (r *run) blamed(diffs []report.DocDiff) []report.DocDiff {
	for i, d := range diffs {
		if d.Resource == "" && d.Kind != fieldpath.Text(r.subject.XR, "kind") {
			continue
		}
		for j, c := range d.Changes {
			if c.Op != report.Removed {
				diffs[i].Changes[j].Step = r.subject.step(d.Resource, c.Path)
			}
		}
	}
	return diffs
}
