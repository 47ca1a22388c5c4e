package alpha_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	containergrpc "github.com/xfn-dev/xfn/internal/alpha/grpc"
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
	e2e.Equal(t, "a ContainerRunnerFunc calls the function", "a: b", string(e2e.Must(r.RunContainer(t.Context(), alpha.ContainerRequest{Image: "a", Input: []byte("b")}))(t)))
}

// TestVectorsByRunner runs the golden cases with functions that are called by
// gRPC, at the endpoint that each request names.
func TestVectorsByRunner(t *testing.T) {
	for _, path := range vectors(t) {
		v := loadVector(t, path)
		t.Run(filepath.Base(path), func(t *testing.T) {
			lis := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			step := 0
			go func() {
				done <- containergrpc.Serve(ctx, lis, alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) {
					stdout := v.steps[step].(map[string]any)["stdout"].(string)
					step++
					return []byte(stdout), nil
				}))
			}()
			functions, _, _ := unstructured.NestedSlice(v.composition, "spec", "functions")
			for _, f := range functions {
				f.(map[string]any)["container"].(map[string]any)["runner"] = map[string]any{"endpoint": "dns:///" + lis.Addr().String()}
			}
			e2e.NoError(t, unstructured.SetNestedSlice(v.composition, functions, "spec", "functions"))
			store := alpha.NewStore(objects(v.existing...)...)
			result, err := alpha.Run(t.Context(), alpha.Request{
				XR: &unstructured.Unstructured{Object: v.xr}, Composition: decoded(t, v.composition), LiteralDeletion: true,
			}, containergrpc.Endpoints(nil), store)
			v.compare(t, result, err, store)
			cancel()
			e2e.NoError(t, e2e.Receive(t, done))
		})
	}
}
