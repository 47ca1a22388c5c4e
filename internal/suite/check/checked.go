package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// Checked returns a func that reports whether an expectation of a case checks a field of a
// composed resource, which has its name in the Composition. The indexes of lists in the path of the
// field are [*]. A matcher or an assertion that compares the value, and a CEL expression that names
// the field, check the field and all fields below it. A matcher or an assertion of its existence,
// its type or its length checks the field alone. An object checks the fields that it has, and a
// golden file all fields of its resources.
func (c Checker) Checked(form spec.CaseSpec, s *Subject) func(resource, path string) bool {
	s.index()
	l := checkedFields{run: run{Checker: c, form: form, subject: s}, at: map[string][]checkedField{}}
	e := form.Expect
	for name, r := range e.Resources {
		for path, m := range r.Fields {
			l.add(name, checkedField{anyIndex(path), m.Value != nil || m.Equals != nil || m.Matches != nil || m.In != nil || m.CEL != nil})
			if m.CEL != nil {
				resourceFields(*m.CEL, l.addBelow)
			}
		}
	}
	for name := range e.Golden.Resources {
		l.addBelow(name, "")
	}
	for _, expression := range e.CEL {
		resourceFields(expression, l.addBelow)
	}
	for _, want := range e.Objects {
		if got := l.candidate(want); got != nil {
			l.object(reconciler.ResourceName(got), "", want)
		}
	}
	l.assertions(e.Assertions)
	l.all = l.all || e.Golden.File != ""
	return l.has
}

type checkedFields struct {
	run
	at map[string][]checkedField // by the name of the resource
	// all is true if an expectation checks all fields.
	all bool
}

// A checkedField is a field, and whether all fields below it are checked, too. The path "" is the
// whole resource.
type checkedField struct {
	path  string
	below bool
}

func (l *checkedFields) add(name string, one checkedField) {
	if obj, err := l.subject.find(name); err == nil {
		name = reconciler.ResourceName(obj)
		l.at[name] = append(l.at[name], one)
	}
}

func (l *checkedFields) addBelow(name, path string) { l.add(name, checkedField{path, true}) }

// object adds the fields of an expected object. Its lists must be equal, but its objects can have
// more fields.
func (l *checkedFields) object(name, path string, want any) {
	obj, isObject := want.(map[string]any)
	if !isObject {
		l.at[name] = append(l.at[name], checkedField{path, true})
	}
	for key, below := range obj {
		l.object(name, fieldpath.Join(path, key), below)
	}
}

func (l *checkedFields) assertions(all []spec.Assertion) {
	rendered := map[string]map[string]any{}
	for _, obj := range l.subject.Composed {
		rendered[kindAndName(obj)] = obj
	}
	for _, one := range all {
		switch _, isField := fieldTypes[one.Type]; {
		case (one.Type == "Diff" || one.Type == "Dyff") && one.Resource == "":
			l.all = true
		case one.Type == "Diff" || one.Type == "Dyff":
			l.addBelow(one.Resource, "")
		case isField:
			l.field(one, rendered)
		}
	}
}

func (l *checkedFields) field(one spec.Assertion, rendered map[string]map[string]any) {
	var path fieldpath.Path
	for _, key := range strings.Split(one.Field, ".") {
		path = append(path, fieldpath.Key(key))
	}
	// An assertion that names no resource fails, and checks nothing.
	names, _ := (&assertion{Assertion: one, rendered: rendered}).matching()
	for _, name := range names {
		l.add(name, checkedField{path.String(), one.Type == "FieldValue"})
	}
}

func (l *checkedFields) has(resource, path string) bool {
	return l.all || slices.ContainsFunc(l.at[resource], func(one checkedField) bool {
		return one.path == path || one.below && (one.path == "" || fieldpath.HasPrefix(path, one.path))
	})
}

var indexes = proc.Regexp(`\[[0-9]+\]`)

func anyIndex(path string) string {
	if !strings.Contains(path, "[") {
		return path
	}
	return indexes().ReplaceAllString(path, "[*]")
}

// resourceFields calls add for each field of a composed resource that an expression names. It
// does nothing for an expression that does not compile.
func resourceFields(expression string, add func(resource, path string)) {
	inner := map[int64]bool{} // Operands of selections: only the longest path counts.
	visit(expression, func(x ast.Expr) {
		if operand := operandOf(x); operand != nil {
			inner[operand.ID()] = true
		}
		isTest := x.Kind() == ast.SelectKind && x.AsSelect().IsTestOnly() // has(x.y) does not look at the content of y.
		if segments, ok := selected(x); ok && len(segments) > 1 && !inner[x.ID()] && !isTest {
			add(segments[0].Key, anyIndex(segments[1:].String()))
		}
	})
}

// operandOf returns the expression from which x selects a field or an element, or nil.
func operandOf(x ast.Expr) ast.Expr {
	switch {
	case x.Kind() == ast.SelectKind:
		return x.AsSelect().Operand()
	case x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Index:
		return x.AsCall().Args()[0]
	}
	return nil
}

// selected returns the path that an expression selects in the variable resources. It is false
// for any other expression.
func selected(x ast.Expr) (fieldpath.Path, bool) {
	if x.Kind() == ast.IdentKind {
		return nil, x.AsIdent() == "resources"
	}
	operand := operandOf(x)
	if operand == nil {
		return nil, false
	}
	above, ok := selected(operand)
	if x.Kind() == ast.SelectKind {
		return append(above, fieldpath.Key(x.AsSelect().FieldName())), ok
	}
	index := x.AsCall().Args()[1]
	if index.Kind() != ast.LiteralKind {
		return nil, false
	}
	switch key := index.AsLiteral().Value().(type) {
	case string:
		return append(above, fieldpath.Key(key)), ok
	case int64:
		return append(above, fieldpath.Index(int(key))), ok
	}
	return nil, false
}
