package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// An UnknownStepError reports a step in Inputs.Steps that is in no pipeline.
type UnknownStepError struct {
	Step string
	// Steps are the names of the steps that exist.
	Steps []string
}

func (e *UnknownStepError) Error() string {
	return fmt.Sprintf("no pipeline has step %q; the steps are %s", e.Step, strings.Join(e.Steps, ", "))
}

// checkSteps returns an *UnknownStepError if answers has a step that is in none
// of the Compositions.
func checkSteps(answers map[string]function.Runner, all ...composition.Entry) error {
	var steps []string
	for _, c := range all {
		for _, step := range c.Spec.Pipeline {
			steps = append(steps, step.Step)
		}
	}
	for _, name := range manifest.Keys(answers) {
		if !slices.Contains(steps, name) {
			return &UnknownStepError{Step: name, Steps: steps}
		}
	}
	return nil
}

// answering returns a Runner that calls the Runner in answers for the current
// step or, if there is none, calls next.
func answering(answers map[string]function.Runner, next function.Runner) function.Runner {
	if len(answers) == 0 {
		return next
	}
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		if r := answers[function.Step(ctx)]; r != nil {
			return r.RunFunction(ctx, name, req)
		}
		return next.RunFunction(ctx, name, req)
	})
}
