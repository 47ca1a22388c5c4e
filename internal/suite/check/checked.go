package check

import (
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// Checked returns a func that reports whether an expectation of a case looks at a field of a
// composed resource, which has its name in the Composition. The indexes of lists in the path of
// the field are [*]. A golden file looks at all fields of its resources, a path at the
// field and all fields below it, and a CEL expression at the fields that it names.
func (c Checker) Checked(form spec.CaseSpec, s *Subject) func(resource, path string) bool {
	s.index()
	e := form.Expect
	paths := map[string][]string{}
	add := func(name, path string) {
		if obj, err := s.find(name); err == nil {
			name = reconciler.ResourceName(obj)
			paths[name] = append(paths[name], path)
		}
	}
	for name, r := range e.Resources {
		for path, m := range r.Fields {
			add(name, anyIndex(path))
			if m.CEL != nil {
				c.Expressions.resourceFields(*m.CEL, add)
			}
		}
	}
	for name := range e.Golden.Resources {
		add(name, "")
	}
	for _, expression := range e.CEL {
		c.Expressions.resourceFields(expression, add)
	}
	return func(resource, path string) bool {
		if e.Golden.File != "" {
			return true
		}
		for _, checked := range paths[resource] {
			if checked == "" || beginsWith(path, checked) {
				return true
			}
		}
		return false
	}
}

var indexes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+\]`) })

// anyIndex returns a path with [*] for each index of a list.
func anyIndex(path string) string {
	if !strings.Contains(path, "[") {
		return path
	}
	return indexes().ReplaceAllString(path, "[*]")
}

// resourceFields calls add for each field of a composed resource that an expression names. It
// does nothing for an expression that does not compile.
func (e *Env) resourceFields(expression string, add func(resource, path string)) {
	env, err := e.env.Do(struct{}{}, newEnv)
	if err != nil {
		return
	}
	compiled, issues := env.Compile(expression)
	if issues.Err() != nil {
		return
	}
	inner := map[int64]bool{} // Operands of selections: only the longest path counts.
	ast.PreOrderVisit(compiled.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if operand := operandOf(x); operand != nil {
			inner[operand.ID()] = true
		}
		isTest := x.Kind() == ast.SelectKind && x.AsSelect().IsTestOnly() // has(x.y) does not look at what is in y.
		if segments, ok := selected(x); ok && len(segments) > 1 && !inner[x.ID()] && !isTest {
			add(segments[0].Key, anyIndex(segments[1:].String()))
		}
	}))
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
