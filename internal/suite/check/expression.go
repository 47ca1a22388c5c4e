package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	kubernetes "k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	// CostLimit is the maximum cost of one evaluation in CEL's units. It is
	// the limit of Kubernetes for a rule in a CRD.
	CostLimit = 1_000_000
	// checkInterval is the number of loop iterations between checks of the context.
	checkInterval = 1000
)

// Variables are the names of the variables that expressions can use.
var Variables = []string{"self", "xr", "operation", "resources", "results", "context"}

// An Env compiles each CEL expression once. It is safe for concurrent use. The
// zero value is ready to use.
type Env struct {
	programs proc.Memo[string, cel.Program]
}

// Eval evaluates a condition with the values of Variables. It is an error if the
// expression does not compile, does not return a bool, fails, or exceeds CostLimit.
// Whole numbers must be int64, as Plain returns them.
func (e *Env) Eval(ctx context.Context, expression string, values map[string]any) (bool, error) {
	program, err := e.programs.Do(expression, func() (cel.Program, error) { return e.program(expression) })
	if err != nil {
		return false, err
	}
	all := make(map[string]any, len(Variables))
	for _, name := range Variables {
		all[name] = values[name]
	}
	out, _, err := program.ContextEval(ctx, all)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && strings.Contains(err.Error(), "cost limit exceeded"):
		return false, errors.New("the expression exceeds the cost limit")
	case err != nil:
		return false, err
	}
	is, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the expression must return a bool, got %s", out.Type().TypeName())
	}
	return is, nil
}

// environment returns the CEL environment of Kubernetes with Variables.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	base := kubernetes.MustBaseEnvSet(kubernetes.DefaultCompatibilityVersion())
	options := make([]cel.EnvOption, 0, len(Variables))
	for _, name := range Variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := base.StoredExpressionsEnv().Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	return env, nil
})

// hyphenated matches a field with a hyphen after a dot.
var hyphenated = proc.Regexp(`\b([a-z][\w.]*)\.(\w+(?:-[A-Za-z]\w*)+)`)

func (e *Env) program(expression string) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	compiled, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		text := firstLine(err.Error())
		if _, after, ok := strings.Cut(text, "undeclared reference to '"); ok {
			name, _, _ := strings.Cut(after, "'")
			near, m := hint.Nearest(name, Variables), hyphenated().FindStringSubmatch(expression)
			switch {
			case near != "":
				text += hint.DidYouMean(near)
			case m != nil && strings.Contains(m[2], "-"+name):
				text += fmt.Sprintf(": - is a minus: write %s['%s']", m[1], m[2])
			default:
				text += ": the variables are " + strings.Join(Variables, ", ")
			}
		} else if strings.Contains(text, "token recognition error at: '=") {
			text += ": equality is =="
		}
		return nil, fmt.Errorf("the expression does not compile: %s", text)
	}
	if t := compiled.OutputType(); !t.IsAssignableType(cel.BoolType) {
		return nil, fmt.Errorf("the expression must return a bool, got %s", t)
	}
	program, err := env.Program(compiled,
		cel.CostLimit(CostLimit),
		cel.CostTracking(&library.CostEstimator{}),
		cel.InterruptCheckFrequency(checkInterval))
	if err != nil {
		return nil, fmt.Errorf("the expression does not compile: %w", err)
	}
	return program, nil
}

// Constant reports whether an expression has the same value in each case, because it names no
// variable. It is false for an expression that does not compile.
func Constant(expression string) bool {
	constant := true
	return visit(expression, func(x ast.Expr) {
		if x.Kind() == ast.IdentKind && slices.Contains(Variables, x.AsIdent()) {
			constant = false
		}
	}) && constant
}

// visit calls do for each part of an expression, from the outside in. It returns false for an
// expression that does not compile.
func visit(expression string, do func(ast.Expr)) bool {
	env, err := environment()
	if err != nil {
		return false
	}
	compiled, issues := env.Compile(expression)
	if issues.Err() != nil {
		return false
	}
	ast.PreOrderVisit(compiled.NativeRep().Expr(), ast.NewExprVisitor(do))
	return true
}

// firstLine returns the first line of an error of CEL. It replaces the prefix
// "ERROR: <input>:1:5: " by the column at the end.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	rest, ok := strings.CutPrefix(line, "ERROR: <input>:")
	if !ok {
		return line
	}
	_, rest, _ = strings.Cut(rest, ":")
	column, message, _ := strings.Cut(rest, ": ")
	return fmt.Sprintf("%s at column %s", message, column)
}

// Plain returns a copy of a value in which whole numbers are int64.
func Plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = Plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Plain(e)
		}
		return out
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}
