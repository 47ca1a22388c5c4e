package alpha_test

import (
	"context"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestComplete(t *testing.T) {
	cases := map[string]struct {
		reason    string
		req, want alpha.ContainerRequest
	}{
		"Empty": {
			"a request without values gets the defaults, and no limits",
			alpha.ContainerRequest{Image: "a"},
			alpha.ContainerRequest{Image: "a", PullPolicy: alpha.PullIfNotPresent, Network: alpha.NetworkIsolated, Timeout: 25 * time.Second},
		},
		"Full": {
			"values of a request are kept",
			alpha.ContainerRequest{Image: "a", PullPolicy: alpha.PullNever, Network: alpha.NetworkRunner, Timeout: time.Second, CPU: "1"},
			alpha.ContainerRequest{Image: "a", PullPolicy: alpha.PullNever, Network: alpha.NetworkRunner, Timeout: time.Second, CPU: "1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, tc.req.Complete())
		})
	}
}

func TestRunnerFunc(t *testing.T) {
	var r alpha.ContainerRunner = alpha.ContainerRunnerFunc(func(_ context.Context, req alpha.ContainerRequest) ([]byte, error) {
		return append([]byte(req.Image+": "), req.Input...), nil
	})
	out, err := r.RunContainer(t.Context(), alpha.ContainerRequest{Image: "a", Input: []byte("b")})
	if string(out) != "a: b" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
}
