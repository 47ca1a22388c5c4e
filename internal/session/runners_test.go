package session_test

import (
	"context"
	"slices"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
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
	s := session.Open(session.Config{
		Reader:  reader(t, map[string]string{"xr.yaml": xr, "composition.yaml": steps("f", "g")}),
		Runners: function.Mux{"f": named("runner")}, Replay: named("replay"),
	})
	_, err := renderOne(t.Context(), s, inputs)
	if want := []string{"runner f", "replay g"}; err != nil || !slices.Equal(calls, want) {
		t.Errorf("got %q, %v, want %q", calls, err, want)
	}
}
