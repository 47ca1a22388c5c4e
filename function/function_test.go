package function_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// says returns a Runner that responds with name, the name in the call and the name of the
// step.
func says(name string) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, called string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: name + " as " + called + " for " + function.Step(ctx)}}, nil
	})
}

func TestMux(t *testing.T) {
	mux := function.Mux{"a": says("one"), "b": says("two"), "nil": nil}
	cases := map[string]struct{ reason, name, want, wantErr string }{
		"First":   {"a call goes to the function with that name", "a", "one as a for make", ""},
		"Second":  {"a call does not go to another function", "b", "two as b for make", ""},
		"Unknown": {"an unknown name is an error", "c", "", `unknown Function "c"`},
		"Nil":     {"a name without a Runner is an error", "nil", "", `unknown Function "nil"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := mux.RunFunction(function.WithStep(t.Context(), "make"), tc.name, &fnv1.RunFunctionRequest{})
			if tc.wantErr != "" {
				e2e.Equal(t, tc.reason, tc.wantErr, fmt.Sprint(err))
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, rsp.GetMeta().GetTag())
		})
	}
}

func TestStepOfAPlainContext(t *testing.T) {
	e2e.Equal(t, "a context without a step has an empty step name", "", function.Step(t.Context()))
}

func TestFatalError(t *testing.T) {
	long := strings.Repeat("a", 4<<10) + strings.Repeat("é", 4<<10)
	cases := map[string]struct{ reason, message, want string }{
		"Short": {"a message of 8 KiB is complete", long[:8<<10], long[:8<<10]},
		"Long": {
			"the middle of a longer message is left out", long + "b",
			strings.Repeat("a", 2<<10) + "... (8193 bytes) ..." + strings.Repeat("é", 1<<10-1) + "b",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := &function.FatalError{Step: "make", Message: tc.message}
			e2e.Equal(t, tc.reason, `pipeline step "make" returned a fatal result: `+tc.want, err.Error())
		})
	}
}
