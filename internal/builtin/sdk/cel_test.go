package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func newCEL() *sdk.CEL {
	return sdk.NewCEL(sdk.CELDialect{
		Variables: sdk.StateVariables(), Messages: []proto.Message{&fnv1.State{}},
		Type: func(text string, t *cel.Type) error {
			if t.IsExactType(cel.BoolType) || t.IsExactType(cel.DynType) {
				return nil
			}
			return fmt.Errorf("%s is %s", text, t)
		},
		Parse: "parse", Check: "check", Program: "program", Evaluate: "evaluate", NotBool: "no bool",
	})
}

func TestCEL(t *testing.T) {
	const list = "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']"
	huge := list
	for range 12 {
		huge = "[" + huge + "].map(x, [x, x, x, x, x, x, x, x, x, x])"
	}
	loops := "true"
	for i := range 8 {
		loops = fmt.Sprintf("%s.all(x%d, %s)", list, i, loops)
	}
	long := "[1]"
	for range 40 {
		long = "[" + long + "].map(a, a + a)[0]"
	}
	text := "'ab'"
	for range 18 {
		text = "[" + text + "].map(a, a + a)[0]"
	}
	const limit = "evaluate: the expression exceeds the cost limit of 1000000"
	cases := map[string]struct {
		reason, expression string
		want               bool
		err                string
	}{
		"True":        {"a condition of the request", "observed.composite.resource.spec.num == 3", true, ""},
		"False":       {"a missing message is empty", "desired.composite.ready != 0", false, ""},
		"Context":     {"a missing context is an empty map", "context == {}", true, ""},
		"NotEqual":    {"values of different types are not equal", "observed.composite.resource.spec.num != 'a'", true, ""},
		"Lists":       {"lists are compared by value", "observed.composite.resource.spec.l == [1, 'a']", true, ""},
		"InList":      {"a list may contain a list", "[1, 2] in [[1], [1, 2]]", true, ""},
		"InMap":       {"a map contains a key", "'spec' in observed.composite.resource", true, ""},
		"Message":     {"an expression can create a message", "observed == apiextensions.fn.proto.v1.State{composite: observed.composite}", true, ""},
		"Dyn":         {"a dynamic value may be a bool", "observed.composite.resource.spec.b", true, ""},
		"NoBool":      {"a dynamic value that is not a bool is an error", "observed.composite.resource.spec.num", false, "no bool"},
		"Parse":       {"an error of the parser", "1 +", false, "parse: ERROR: <input>:1:4: Syntax error"},
		"Check":       {"an error of the type checker", "input.x", false, "check: ERROR: <input>:1:1: undeclared reference to 'input'"},
		"Type":        {"a static type that the function refuses", "1 + 1", false, "1 + 1 is int"},
		"Key":         {"an error of the evaluation", "observed.composite.resource.spec.x == 1", false, "evaluate: no such key: x"},
		"Overload":    {"an error in an operand of a comparison", "[1] == [observed.resources['a'].ready]", false, "evaluate: no such key: a"},
		"NoText":      {"only a text has matches, and the error names the function", "observed.composite.resource.spec.num.matches('a')", false, "evaluate: no such overload: matches"},
		"NoPattern":   {"a pattern must be a text", "'a'.matches(observed.composite.resource.spec.num)", false, "evaluate: no such overload"},
		"NoContainer": {"only lists and maps have elements", "1 in observed.composite.resource.spec.num", false, "evaluate: no such overload"},
		"Loops":       {"nested loops exceed the limit", loops, false, limit},
		"Compare":     {"a comparison of a value that contains itself often exceeds the limit", huge + " == " + huge, false, limit},
		"Contains":    {"a search in such a value exceeds the limit", huge + " in [" + huge + "]", false, limit},
		"Search":      {"a search of a number in a list that consists of itself exceeds the limit", "9 in " + long, false, limit},
		"LongResult":  {"a list as the result is an error, and is not copied", "dyn(" + long + ")", false, "no bool"},
		"Matches":     {"a regular expression", "'abc'.matches('^a.c$')", true, ""},
		"BadPattern":  {"a regular expression that does not compile", "'a'.matches('(')", false, "evaluate: error parsing regexp: missing closing ): `(`"},
		"Pattern":     {"the steps of a search are limited", text + ".matches('(?:[ab]?[bc]?){1000}')", false, "evaluate: the regexp is too large for a text of 524288 bytes"},
		"Store":       {"such a value in a message exceeds the limit", "google.protobuf.ListValue{values: " + huge + "} == []", false, limit},
		"Depth":       {"the parser limits the depth", strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), false, "parse: ERROR: <input>:-1:0: expression recursion limit exceeded: 250"},
		"Length":      {"the parser limits the length", strings.Repeat(" ", 100_001), false, "parse: ERROR: <input>:-1:0: expression code point size exceeds limit"},
	}
	req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(t, "{spec: {num: 3, b: true, l: [1, a]}}")}}}
	c := newCEL()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.err == limit && testing.Short() {
				t.Skip("it reaches a limit of a million steps")
			}
			var spent uint64
			got, err := c.Bool(t.Context(), tc.expression, sdk.StateOf(req), &spent)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.err)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// The limit is for all evaluations of a request.
func TestCELBudget(t *testing.T) {
	c := newCEL()
	spent := uint64(sdk.CELRequestLimit - 10)
	for i := range 100 {
		if _, err := c.Bool(t.Context(), "1 + 1 == 2", nil, &spent); err != nil {
			if i == 0 || !strings.Contains(err.Error(), "exceed the cost limit of 10000000 for a request") {
				t.Errorf("evaluation %d: got %v", i, err)
			}
			return
		}
	}
	t.Error("a hundred evaluations cost less than ten units")
}

func TestCELCanceled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause)
	defer cancel()
	c := newCEL()
	var err error
	const rows = "[1, 2, 3, 4, 5, 6, 7, 8, 9]"
	for err == nil {
		_, err = c.Bool(ctx, rows+".all(a, "+rows+".all(b, "+rows+".all(c, a < b + c + 20)))", nil, new(uint64))
	}
	e2e.ErrorIs(t, "an evaluation ends with the cause of its context", err, cause)
}

func BenchmarkCEL(b *testing.B) {
	c := newCEL()
	vars := sdk.StateOf(&fnv1.RunFunctionRequest{})
	for b.Loop() {
		var spent uint64
		if ok, err := c.Bool(b.Context(), "'a' in observed.resources || desired.composite.ready == 0", vars, &spent); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
