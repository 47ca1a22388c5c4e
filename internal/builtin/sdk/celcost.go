package sdk

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// maxWeight is the maximum weight of a value that an expression compares or stores in a
// protobuf message. An expression can create a list whose elements are the same list, and so
// on: its weight grows exponentially, and its cost does not.
const maxWeight = 1_000_000

// celCosts returns the costs of calls for which cel-go assumes a constant cost, although
// their time depends on the size of their arguments.
type celCosts struct{}

// CallCost implements interpreter.ActualCostEstimator.
func (celCosts) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	var cost uint64
	switch function {
	case operators.Equals, operators.NotEquals, operators.In:
		if cost = compared(args[0], args[1]); cost == 0 {
			return nil
		}
	case overloads.Size, overloads.TypeConvertInt, overloads.TypeConvertUint, overloads.TypeConvertDouble,
		overloads.TypeConvertBool, overloads.TypeConvertTimestamp, overloads.TypeConvertDuration:
		cost = 1 + bytesIn(args[0])
	default:
		return nil
	}
	return &cost
}

// compared returns the weight of a comparison of containers, or 0 for other comparisons,
// whose cost is correct in cel-go.
func compared(l, r ref.Val) uint64 {
	if isContainer(l) && isContainer(r) {
		return weigh(l) + weigh(r)
	}
	return 0
}

// searched returns the weight of a search in a list. A list can be longer than its cost,
// because it can consist of a list and the same list again.
func searched(element, in ref.Val) uint64 {
	if list, ok := in.(traits.Lister); ok {
		return max(compared(element, in), weigh(list.(ref.Val)))
	}
	return compared(element, in)
}

func isContainer(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		return true
	default:
		return asMessage(v) != nil
	}
}

func asMessage(v ref.Val) proto.Message {
	if _, ok := v.(traits.FieldTester); !ok {
		return nil
	}
	m, _ := v.Value().(proto.Message)
	return m
}

// bytesIn returns a tenth of the length of a text.
func bytesIn(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / 10
	case types.Bytes:
		return uint64(len(v)) / 10
	default:
		return 0
	}
}

// weigh returns the number of values in v plus a tenth of the length of its texts, or a number
// above maxWeight if that is larger. A value is counted as often as it occurs.
func weigh(v ref.Val) uint64 {
	weight := 1 + bytesIn(v)
	switch v := v.(type) {
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && weight <= maxWeight; {
			key := it.Next()
			weight += weigh(key) + weigh(v.Get(key))
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && weight <= maxWeight; {
			weight += weigh(it.Next())
		}
	default:
		if m := asMessage(v); m != nil {
			weight += uint64(proto.Size(m)) / 10
		}
	}
	return weight
}

// limit ends the evaluation of an expression if weight exceeds maxWeight. It panics as
// cel-go does when an expression exceeds the cost limit.
func limit(weight uint64) {
	if weight > maxWeight {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "a value is too large"})
	}
}

// A limitedCall is a call of ==, !=, in or matches, which checks its operands first.
type limitedCall struct {
	interpreter.InterpretableCall
	left, right interpreter.Interpretable
	// weight returns the weight of the operands. call calls the function.
	weight func(l, r ref.Val) uint64
	call   func(l, r ref.Val) ref.Val
}

// limitCall is a decorator of programs. It replaces calls whose time can exceed their cost.
func limitCall(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return i, nil
	}
	c := &limitedCall{InterpretableCall: call, left: call.Args()[0], right: call.Args()[1], weight: compared}
	switch call.Function() {
	case operators.Equals:
		c.call = types.Equal
	case operators.NotEquals:
		c.call = func(l, r ref.Val) ref.Val { return types.Bool(types.Equal(l, r) != types.True) }
	case operators.In:
		c.weight, c.call = searched, in
	case overloads.Matches:
		c.call = match
	default:
		return i, nil
	}
	return c, nil
}

// Eval implements interpreter.Interpretable.
func (c *limitedCall) Eval(vars interpreter.Activation) ref.Val {
	l, r := c.left.Eval(vars), c.right.Eval(vars)
	switch {
	case types.IsUnknownOrError(l):
		return l
	case types.IsUnknownOrError(r):
		return r
	}
	limit(c.weight(l, r))
	return c.call(l, r)
}

// match reports whether a text has a match of a regular expression, within the limits of
// spec.Expression.
func match(text, pattern ref.Val) ref.Val {
	t, ok := text.(types.String)
	if !ok {
		return types.NewErr("no such overload: %s", overloads.Matches)
	}
	p, ok := pattern.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(pattern)
	}
	expr, err := spec.CompilePattern(string(p))
	if err != nil {
		return types.WrapErr(err)
	}
	matched, err := expr.MatchString(string(t))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(matched)
}

func in(element, container ref.Val) ref.Val {
	if c, ok := container.(traits.Container); ok {
		return c.Contains(element)
	}
	return types.ValOrErr(container, "no such overload")
}
