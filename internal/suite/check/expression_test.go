package check_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

func TestEval(t *testing.T) {
	values := map[string]any{
		"self":      check.Plain(3.0),
		"xr":        check.Plain(map[string]any{"spec": map[string]any{"max": 5.0, "half": 0.5, "memory": "1Gi", "list": []any{1.0, "a"}}}),
		"resources": map[string]any{"a-b": map[string]any{"kind": "Bolt"}},
	}
	const forever = "[1,2,3,4,5,6,7,8,9,0].all(a, [1,2,3,4,5,6,7,8,9,0].all(b, [1,2,3,4,5,6,7,8,9,0].all(c, [1,2,3,4,5,6,7,8,9,0].all(d, [1,2,3,4,5,6,7,8,9,0].all(e, [1,2,3,4,5,6,7,8,9,0].all(f, [1,2,3,4,5,6,7,8,9,0].all(g, [1,2,3,4,5,6,7,8,9,0].all(h, true))))))))"
	cases := map[string]struct {
		reason, expression string
		want               bool
		err                string
	}{
		"True":      {"values are variables", "self <= xr.spec.max && xr.spec.half < 1", true, ""},
		"False":     {"a condition can be false", "self > xr.spec.max", false, ""},
		"Whole":     {"whole numbers are ints, in lists too", "self + 1 == 4 && xr.spec.list[0] + 1 == 2 && xr.spec.list[1] == 'a'", true, ""},
		"Resource":  {"resources are looked up by name", "resources['a-b'].kind == 'Bolt'", true, ""},
		"Absent":    {"a variable without a value is null", "context == null", true, ""},
		"Library":   {"the CEL functions of Kubernetes are available", "quantity(xr.spec.memory).isGreaterThan(quantity('1Mi')) && 'ab'.matches('^a') && isURL('https://example.org')", true, ""},
		"Syntax":    {"an expression that does not compile is reported with its position", "self ==", false, "the expression does not compile: Syntax error: mismatched input '<EOF>'"},
		"Hyphen":    {"a name with a hyphen is in brackets", "resources.storage-bucket-a.spec.x == 1", false, "column 19: - is a minus: write resources['storage-bucket-a']"},
		"Variables": {"variables are listed if no variable has a similar name", "bucket == 1", false, "undeclared reference to 'bucket' (in container '') at column 1: the variables are self, xr, operation, resources, results, context"},
		"Assign":    {"equality has two signs", "self = 1", false, ": equality is =="},
		"Unknown":   {"an unknown variable does not compile", "selv == 1", false, "undeclared reference to 'selv' (in container '') at column 1, did you mean self?"},
		"NoBool":    {"a number is not a condition", "1 + 1", false, "the expression must return a bool, got int"},
		"NoBoolDyn": {"a dynamic value that is not a bool is an error", "self", false, "the expression must return a bool, got int"},
		"Failing":   {"a missing field is an error", "xr.spec.min > 1", false, "no such key: min"},
		"Forever":   {"an expression that exceeds the cost limit is stopped", forever, false, "the expression exceeds the cost limit"},
	}
	var env check.Env
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.expression == forever && testing.Short() {
				t.Skip("it reaches the limit of cost")
			}
			for range 2 { // The second evaluation uses the cached program.
				got, err := env.Eval(t.Context(), tc.expression, values)
				e2e.WantError(t, tc.reason, err, tc.err)
				e2e.Equal(t, tc.reason, tc.want, got)
			}
		})
	}
}

// TestCancel ends an evaluation with its context.
func TestCancel(t *testing.T) {
	gone := errors.New("the time is up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	var env check.Env
	e2e.ErrorIs(t, "the error is the cause of the context", e2e.Err(env.Eval(ctx, "[1,2,3].all(a, [1,2,3].all(b, [1,2,3].all(c, true)))", nil)), gone)
}

// TestConcurrent compiles equal and different expressions in many goroutines.
func TestConcurrent(t *testing.T) {
	var env check.Env
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			expr := []string{"self == 1", "self >= 1"}[i%2]
			if ok, err := env.Eval(t.Context(), expr, map[string]any{"self": int64(1)}); !ok || err != nil {
				t.Errorf("%s: got %t, %v", expr, ok, err)
			}
		})
	}
	e2e.Wait(t, &wg)
}
