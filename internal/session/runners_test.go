package session_test

import (
	"context"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session"
)

// TestRunnersBeforeReplay: Config.Runners are called instead of Config.Replay, which
// responds for all other functions.
func TestRunnersBeforeReplay(t *testing.T) {
	var calls []string
	named := func(by string) function.Runner {
		return function.RunnerFunc(func(_ context.Context, name string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			calls = append(calls, by+" "+name)
			return &fnv1.RunFunctionResponse{}, nil
		})
	}
	s := open(t, session.Config{Runners: function.Mux{"f": named("runner")}, Replay: named("replay")}, map[string]string{"composition.yaml": steps("f", "g")})
	e2e.NoError(t, e2e.Err(renderOne(t.Context(), s, inputs)))
	e2e.Equal(t, "Runners are called before Replay", []string{"runner f", "replay g"}, calls)
}
