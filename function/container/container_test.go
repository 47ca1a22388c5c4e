package container_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/function/container"
)

func TestComplete(t *testing.T) {
	cases := map[string]struct {
		reason    string
		req, want container.Request
	}{
		"Empty": {
			"what a request does not say is as runners have it, and no limit is one of that",
			container.Request{Image: "a"},
			container.Request{Image: "a", PullPolicy: container.PullIfNotPresent, Network: container.NetworkIsolated, Timeout: 25 * time.Second},
		},
		"Full": {
			"what it says stays",
			container.Request{Image: "a", PullPolicy: container.PullNever, Network: container.NetworkRunner, Timeout: time.Second, CPU: "1"},
			container.Request{Image: "a", PullPolicy: container.PullNever, Network: container.NetworkRunner, Timeout: time.Second, CPU: "1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.req.Complete()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRunnerFunc(t *testing.T) {
	var r container.Runner = container.RunnerFunc(func(_ context.Context, req container.Request) ([]byte, error) {
		return append([]byte(req.Image+": "), req.Input...), nil
	})
	out, err := r.RunContainer(t.Context(), container.Request{Image: "a", Input: []byte("b")})
	if string(out) != "a: b" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
}
