package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
)

// TestSteps: a function is not started if Inputs.Steps replaces all steps that call it.
func TestSteps(t *testing.T) {
	answer := func(asked *[]string) function.Runner {
		return function.RunnerFunc(func(ctx context.Context, name string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			*asked = append(*asked, function.Step(ctx)+" "+name)
			return &fnv1.RunFunctionResponse{}, nil
		})
	}
	cases := map[string]struct {
		reason                          string
		steps, answered, asked, started []string
	}{
		"All":    {"nothing starts if all steps are replaced", []string{"f", "g"}, []string{"s0", "s1"}, []string{"s0 f", "s1 g"}, nil},
		"Some":   {"functions of other steps start", []string{"f", "known"}, []string{"s0"}, []string{"s0 f"}, []string{"known example.org/known:v1"}},
		"Twice":  {"a function of two steps is called for the other one", []string{"known", "known"}, []string{"s1"}, []string{"s1 known"}, []string{"known example.org/known:v1"}},
		"Nobody": {"nothing changes without replaced steps", []string{"known"}, nil, nil, []string{"known example.org/known:v1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fns := &shelf{}
			s := open(t, session.Config{Runtimes: map[session.Runtime]runtimes.Runtime{session.Docker: fns}}, map[string]string{
				"composition.yaml": steps(tc.steps...), "functions.yaml": fn("known", "example.org/known:v1", "Docker"),
			})
			var asked []string
			in := session.Inputs{XRs: []string{"xr.yaml"}, Composition: "composition.yaml", Steps: map[string]function.Runner{}}
			for _, step := range tc.answered {
				in.Steps[step] = answer(&asked)
			}
			e2e.NoError(t, e2e.Err(renderOne(t.Context(), s, in)))
			e2e.Equal(t, tc.reason+": requests", tc.asked, asked)
			e2e.Equal(t, tc.reason+": starts", tc.started, fns.started)
		})
	}
}

// TestUnknownStep: a step in Inputs.Steps that does not exist is an error, with
// one Composition and with a library.
func TestUnknownStep(t *testing.T) {
	s := open(t, session.Config{}, map[string]string{"composition.yaml": steps("function-dummy", "function-dummy")})
	for _, in := range []session.Inputs{{Composition: "composition.yaml"}, {Compositions: []string{"composition.yaml"}}} {
		in.XRs, in.Steps = []string{"xr.yaml"}, map[string]function.Runner{"s7": function.Mux{}}
		_, err := renderOne(t.Context(), s, in)
		var unknown *session.UnknownStepError
		if !errors.As(err, &unknown) || unknown.Step != "s7" || !slices.Equal(unknown.Steps, []string{"s0", "s1"}) {
			t.Errorf("got %v", err)
		}
	}
}
