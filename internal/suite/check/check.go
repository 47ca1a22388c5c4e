package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A Failure is an expectation that was not met.
type Failure struct {
	// Path leads to the expectation in its case: keys, and indices as "[0]".
	Path []string
	// Resource is the composed resource by its name in the Composition, and Field
	// what of it is meant, or of the composite resource if there is no Resource.
	Resource, Field string
	// Step is the pipeline step that set the field, if one did.
	Step string
	// Text says what is wrong, with resource, field and step.
	Text string
	// Diffs say how documents differ from a golden file.
	Diffs []report.DocDiff
	// Hint says what to do about it, if that is known.
	Hint hint.Hint
}

// A Checker knows what the checks of all cases share.
type Checker struct {
	// Expressions compiles the expressions of cases.
	Expressions *Env
	// Goldens reads, and where that is asked for writes, golden files.
	Goldens Goldens
	// Validate returns what is wrong with objects, and with the Composition of
	// the case, by the schemas that the case names. The names in ignore are kinds
	// that are not judged.
	Validate func(ctx context.Context, schemas []spec.Source, objects []map[string]any, ignore []string) ([]Fault, error)
}

// Fault is something that a schema does not allow.
type Fault struct {
	// Object is the index of the object, or OfComposition.
	Object int
	// Field is what of it is meant, and Text what is wrong, with the field's name
	// and, of a Composition, where that stands.
	Field, Text string
}

// OfComposition is the Object of a Fault of the case's Composition.
const OfComposition = -1

// a run is the check of one case.
type run struct {
	Checker
	ctx      context.Context
	form     spec.CaseSpec
	subject  *Subject
	failures []Failure
}

// Check returns all expectations of a case that a subject does not meet. It
// changes nothing but the golden files that are to be updated.
func (c Checker) Check(ctx context.Context, form spec.CaseSpec, s *Subject) []Failure {
	s.index()
	r := run{Checker: c, ctx: ctx, form: form, subject: s}
	e := form.Expect
	r.fields(fieldsOf{what: "composite resource", object: s.XR, path: []string{"expect", "xr"}}, e.XR)
	for _, name := range slices.Sorted(maps.Keys(e.Resources)) {
		r.resource(name, e.Resources[name])
	}
	r.only(e.Only)
	r.count(e.Count)
	r.results(e.Results)
	r.conditions(e.Conditions)
	r.ready(e.Ready)
	r.passes(e.Passes)
	r.fields(fieldsOf{what: "context", object: s.Context, path: []string{"expect", "context"}, unset: true}, e.Context)
	r.fields(fieldsOf{what: "connection details", object: s.Connection, path: []string{"expect", "connectionDetails"}, unset: true}, e.Connection)
	r.valid(e.Valid)
	for i, expr := range e.CEL {
		r.holds(expr, nil, "", []string{"expect", "cel", fmt.Sprintf("[%d]", i)})
	}
	r.golden(e.Golden)
	return r.failures
}

func (r *run) fail(f Failure) { r.failures = append(r.failures, f) }

// failf adds a failure that is about no field.
func (r *run) failf(path []string, format string, args ...any) {
	r.fail(Failure{Path: path, Text: fmt.Sprintf(format, args...)})
}

// failErr adds an error.
func (r *run) failErr(path []string, err error) {
	r.fail(Failure{Path: path, Text: err.Error(), Hint: hint.Of(err)})
}

func (r *run) resource(name string, e spec.Resource) {
	path := []string{"expect", "resources", name}
	obj, err := r.subject.find(name)
	_, isMissing := err.(*notThere)
	switch {
	case e.State == "absent":
		if obj != nil || !isMissing {
			r.fail(Failure{Path: path, Resource: name, Step: r.stepOf(obj), Text: fmt.Sprintf("%s: there is such a resource%s", name, by(r.stepOf(obj)))})
		}
	case err != nil:
		r.fail(Failure{Path: path, Resource: name, Text: err.Error()})
	default:
		r.fields(fieldsOf{what: name, resource: reconciler.ResourceName(obj), object: obj, path: path}, e.Fields)
	}
}

// stepOf is the step that composed an object.
func (r *run) stepOf(obj map[string]any) string {
	if obj == nil {
		return ""
	}
	return r.subject.step(reconciler.ResourceName(obj), "")
}

// by names a step, if there is one.
func by(step string) string {
	if step == "" {
		return ""
	}
	return fmt.Sprintf(" (set by step %s)", step)
}

// holds evaluates an expression, whose self may be a field's value.
func (r *run) holds(expr string, self any, prefix string, path []string) {
	values := maps.Clone(r.subject.values())
	values["self"] = Plain(self)
	switch ok, err := r.Expressions.Eval(r.ctx, expr, values); {
	case err != nil:
		r.failf(path, "%sCEL %s: %v", prefix, expr, err)
	case !ok && prefix != "":
		r.failf(path, "%sCEL %s is false of %s", prefix, expr, show(self))
	case !ok:
		r.failf(path, "CEL %s is false", expr)
	}
}
