package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
)

func celFilter() Builtin {
	return Builtin{
		Name: "function-cel-filter", Measured: celFilterMeasured, From: "v0.1.0", Below: "v0.3.0",
		Input:   inputOf[Filters]("cel.fn.crossplane.io/v1beta1 Filters", composition.Input{Patterns: []string{"filters[].name"}}),
		Covered: "`filters` with `name` and `expression`; the variables `observed`, `desired` and `context`. Up to v0.1.1, texts about types have the message types of protocol v1beta1.",
		Differs: "The cost of one expression (1,000,000 of CEL's units, about a second) and of all expressions of a request (ten times as much) and regular expressions (16 KiB) are limited, and the timeout of the render applies.",
		New: func(o Options) function.Runner {
			return o.withNames(newCELFilter(version(o.Package)), true, "filters[].name")
		},
		locate: locateFilter,
	}
}

// Filters is the input of function-cel-filter. The function accepts an input without any field;
// the required fields come from the schema of the real function. Error texts contain the names
// of this type and of Filter, so they are the same as in the real function.
type Filters struct {
	sdk.Meta `json:",inline"`

	// Filters are applied to the desired composed resources.
	Filters []Filter `json:"filters" required:""`
}

// A Filter removes the composed resources whose names it matches if its expression is false.
type Filter struct {
	// Name is an RE2 regular expression, to which ^ and $ are added, without a group.
	Name string `json:"name" required:""`
	// Expression is a CEL expression with the variables observed, desired and context.
	Expression string `json:"expression" required:""`
}

// celFilterMeasured is the version of the real function with which tests compare the builtin.
const celFilterMeasured = "v0.2.0"

// newCELFilter returns function-cel-filter as it is in a version. It caches compiled expressions.
func newCELFilter(version string) function.Runner {
	d := sdk.CELDialect{
		Variables: sdk.StateVariables(), Messages: []proto.Message{&fnv1.State{}},
		Type: func(expression string, t *cel.Type) error {
			if t.IsExactType(cel.BoolType) {
				return nil
			}
			return fmt.Errorf("expression %q must return a boolean, but will return %s instead", expression, t)
		},
		Parse: "cannot parse expression", Check: "cannot type-check expression",
		Program: "cannot create CEL program", Evaluate: "cannot evaluate CEL program",
		NotBool: "expression did not return a bool",
	}
	beta := !sdk.Since(version, celFilterMeasured, "v0.2.0-0")
	if beta {
		// These versions served only v1beta1 of the protocol, whose messages have other names.
		state := cel.ObjectType(string((&fnv1beta1.State{}).ProtoReflect().Descriptor().FullName()))
		d.Variables["observed"], d.Variables["desired"] = state, state
		d.Messages = []proto.Message{&fnv1beta1.State{}}
	}
	return function.RunnerFunc((&celFilterFunction{cel: sdk.NewCEL(d).Prepare(), beta: beta}).run)
}

type celFilterFunction struct {
	cel *sdk.CEL
	// beta is true if the variables are messages of v1beta1.
	beta   bool
	inputs proc.Memo[sdk.Sum, []compiledFilter]
}

// A compiledFilter is a Filter whose pattern is compiled. err is the error for an invalid pattern.
type compiledFilter struct {
	expression string
	pattern    *spec.Expression
	err        error
}

func compileFilters(input *structpb.Struct) ([]compiledFilter, error) {
	in := &Filters{}
	if err := sdk.Decode(input, in); err != nil {
		return nil, fmt.Errorf("cannot get filters from *v1.RunFunctionRequest: %w", err)
	}
	filters := make([]compiledFilter, len(in.Filters))
	for i, f := range in.Filters {
		text := "^" + f.Name + "$"
		pattern, err := spec.CompilePattern(text)
		if err != nil {
			err = fmt.Errorf("cannot compile regular expression %q for filter %d: %w", text, i, err)
		}
		filters[i] = compiledFilter{f.Expression, pattern, err}
	}
	return filters, nil
}

func (f *celFilterFunction) run(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	err := f.filter(ctx, req, rsp)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("filtering composed resources: %w", context.Cause(ctx))
	}
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	return rsp, nil
}

// filter evaluates the expressions of all filters before it removes resources.
func (f *celFilterFunction) filter(ctx context.Context, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	filters, err := f.inputs.Do(sdk.SumOf(req.GetInput()), func() ([]compiledFilter, error) { return compileFilters(req.GetInput()) })
	if err != nil {
		return err
	}
	variables, err := f.variables(req)
	if err != nil {
		return err
	}
	var excluded []*spec.Expression
	var spent uint64
	for i, filter := range filters {
		if filter.err != nil {
			return filter.err
		}
		included, err := f.cel.Bool(ctx, filter.expression, variables, &spent)
		if err != nil {
			return fmt.Errorf("cannot evaluate CEL expression %q for filter %d: %w", filter.expression, i, err)
		}
		if !included {
			excluded = append(excluded, filter.pattern)
		}
	}
	return excludeResources(ctx, rsp, excluded)
}

// variables returns the values of the variables of expressions. The messages of v1beta1 and v1
// have the same encoding.
func (f *celFilterFunction) variables(req *fnv1.RunFunctionRequest) (map[string]any, error) {
	all := sdk.StateOf(req)
	if !f.beta {
		return all, nil
	}
	for name, state := range map[string]*fnv1.State{"observed": req.GetObserved(), "desired": req.GetDesired()} {
		encoded, err := proto.Marshal(state)
		if err != nil {
			return nil, fmt.Errorf("encoding the %s state: %w", name, err)
		}
		beta := &fnv1beta1.State{}
		if err := proto.Unmarshal(encoded, beta); err != nil {
			return nil, fmt.Errorf("decoding the %s state: %w", name, err)
		}
		all[name] = beta
	}
	return all, nil
}

// excludeResources removes the desired composed resources whose names match a pattern.
func excludeResources(ctx context.Context, rsp *fnv1.RunFunctionResponse, patterns []*spec.Expression) error {
	if len(patterns) == 0 || len(rsp.GetDesired().GetResources()) == 0 {
		return nil
	}
	kept := maps.Clone(rsp.GetDesired().GetResources())
	for name := range rsp.GetDesired().GetResources() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, p := range patterns {
			matches, err := p.MatchString(name)
			if err != nil {
				return errors.New("the name of a composed resource is too long for a filter")
			}
			if matches {
				delete(kept, name)
				break
			}
		}
	}
	rsp.Desired = &fnv1.State{Composite: rsp.GetDesired().GetComposite(), Resources: kept}
	return nil
}

// locateFilter returns the path of the field in an input to which a fatal result refers, and the line
// in the text of an expression, counted from 1. It returns "" if it finds no field.
func locateFilter(fatal string, _ []byte) (field string, line int) {
	for prefix, name := range map[string]string{"cannot compile regular expression ": "name", "cannot evaluate CEL expression ": "expression"} {
		rest, ok := strings.CutPrefix(fatal, prefix)
		quoted, err := strconv.QuotedPrefix(rest)
		if !ok || err != nil {
			continue
		}
		var index int
		if _, err := fmt.Sscanf(rest[len(quoted):], " for filter %d:", &index); err != nil {
			continue
		}
		line := 1
		if _, at, ok := strings.Cut(rest[len(quoted):], "ERROR: <input>:"); ok {
			// A fault without a place has the line -1.
			if n, err := strconv.Atoi(at[:max(0, strings.Index(at, ":"))]); err == nil && n > 1 {
				line = n
			}
		}
		return fmt.Sprintf("filters[%d].%s", index, name), line
	}
	return "", 0
}
