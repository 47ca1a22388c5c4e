package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Limits of CEL expressions. The real functions have only the limits of the parser.
const (
	// CELCostLimit is the maximum cost of one evaluation, and CELRequestLimit the maximum
	// cost of all evaluations for one request, both in CEL's units. Kubernetes has these
	// limits for one rule, and for all rules of an object. The time for CELCostLimit is
	// about a second.
	CELCostLimit    = 1_000_000
	CELRequestLimit = 10_000_000
	// checkInterval is the number of loop iterations between checks of the context.
	checkInterval = 1000
	// maxKeptExpression is the maximum length in bytes of an expression whose program is
	// cached. A program needs a hundred times the memory of its text.
	maxKeptExpression = 4 << 10
)

// A CELDialect has the differences between the functions that evaluate CEL expressions.
type CELDialect struct {
	// Variables are the static types of the variables.
	Variables map[string]*cel.Type
	// Messages are protobuf messages whose types expressions can use.
	Messages []proto.Message
	// Type returns an error if an expression must not have a static type.
	Type func(expression string, t *cel.Type) error
	// Parse, Check, Program and Evaluate are the beginnings of errors in these phases.
	Parse, Check, Program, Evaluate string
	// NotBool is the error for a result that is not a bool. An expression with the static
	// type bool has no other result.
	NotBool string
}

// A CEL compiles and evaluates the CEL expressions of a function. It has the standard
// library, and no extensions. Compiled expressions are cached. A CEL is safe for concurrent
// use.
type CEL struct {
	dialect  CELDialect
	env      func() (*cel.Env, error)
	programs proc.Memo[string, cel.Program]
}

// NewCEL returns a CEL. The environment is prepared when the first expression is compiled.
func NewCEL(d CELDialect) *CEL {
	return &CEL{dialect: d, env: sync.OnceValues(func() (*cel.Env, error) { return newCELEnv(d) })}
}

// Prepare begins to prepare the environment and the parser in the background, and returns c.
// It is for a function whose every call evaluates expressions: the earlier steps of a pipeline
// run at the same time.
func (c *CEL) Prepare() *CEL {
	go func() {
		if env, err := c.env(); err == nil {
			env.Parse("true")
		}
	}()
	return c
}

func newCELEnv(d CELDialect) (*cel.Env, error) {
	registry, err := types.NewRegistry(d.Messages...)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	options := []cel.EnvOption{cel.CustomTypeAdapter(registry), cel.CustomTypeProvider(messageTypes{registry})}
	for name, t := range d.Variables {
		options = append(options, cel.Variable(name, t))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	return env, nil
}

// Bool returns the result of an expression. The values of variables are protobuf messages,
// or values that encoding/json decodes. spent is the cost of all evaluations for the
// request, to which Bool adds. Bool returns an error if the expression is invalid, fails
// or exceeds a limit, and the cause of ctx when ctx is done.
func (c *CEL) Bool(ctx context.Context, expression string, variables map[string]any, spent *uint64) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	program, err := c.program(expression)
	if err != nil {
		return false, err
	}
	if *spent > CELRequestLimit {
		return false, c.exhausted()
	}
	defer proc.EnterStep(ctx, function.Step(ctx))()
	out, details, err := program.ContextEval(ctx, variables)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if cost := details.ActualCost(); cost != nil {
		*spent += *cost
	}
	var canceled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &canceled) && canceled.Cause == interpreter.CostLimitExceeded:
		return false, fmt.Errorf("%s: the expression exceeds the cost limit of %d", c.dialect.Evaluate, CELCostLimit)
	case *spent > CELRequestLimit:
		return false, c.exhausted()
	case err != nil:
		return false, fmt.Errorf("%s: %w", c.dialect.Evaluate, err)
	}
	// Value would copy a list, which an expression can make very long at little cost.
	result, ok := out.(types.Bool)
	if !ok {
		return false, errors.New(c.dialect.NotBool)
	}
	return bool(result), nil
}

// exhausted returns the error of an expression that is not evaluated, or whose result is
// discarded, because the request exceeds its limit.
func (c *CEL) exhausted() error {
	return fmt.Errorf("%s: the expressions exceed the cost limit of %d for a request", c.dialect.Evaluate, CELRequestLimit)
}

func (c *CEL) program(expression string) (cel.Program, error) {
	if len(expression) > maxKeptExpression {
		return c.compile(expression)
	}
	return c.programs.Do(expression, func() (cel.Program, error) { return c.compile(expression) })
}

func (c *CEL) compile(expression string) (cel.Program, error) {
	env, err := c.env()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expression)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.dialect.Parse, err)
	}
	checked, issues := env.Check(parsed)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.dialect.Check, err)
	}
	if err := c.dialect.Type(expression, checked.OutputType()); err != nil {
		return nil, err
	}
	program, err := env.Program(checked,
		cel.CostLimit(CELCostLimit),
		cel.CostTracking(celCosts{}),
		cel.CustomDecorator(limitCall),
		cel.InterruptCheckFrequency(checkInterval))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.dialect.Program, err)
	}
	return program, nil
}

// StateVariables are the static types of the variables in StateOf.
func StateVariables() map[string]*cel.Type {
	state := cel.ObjectType(string((&fnv1.State{}).ProtoReflect().Descriptor().FullName()))
	return map[string]*cel.Type{"observed": state, "desired": state, "context": cel.ObjectType("google.protobuf.Struct")}
}

// StateOf returns the variables of functions whose expressions use the whole request.
func StateOf(req *fnv1.RunFunctionRequest) map[string]any {
	return map[string]any{"observed": req.GetObserved(), "desired": req.GetDesired(), "context": req.GetContext()}
}

// messageTypes limits the size of the protobuf messages that expressions create.
type messageTypes struct{ *types.Registry }

// NewValue implements types.Provider.
func (m messageTypes) NewValue(name string, fields map[string]ref.Val) ref.Val {
	for _, field := range fields {
		limit(weigh(field))
	}
	return m.Registry.NewValue(name, fields)
}
