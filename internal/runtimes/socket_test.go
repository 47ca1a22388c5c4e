package runtimes_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A socket can be in a directory whose name has characters with a meaning in URLs, as in CI jobs.
func TestSocketTarget(t *testing.T) {
	if !runtimes.SocketsWork {
		t.Skip("functions use no sockets on this system")
	}
	empty := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{}, nil
	})
	for _, name := range []string{"plain", "feature%2Fa", "a%zz", "a b", "a#b", "a?b", "a[b"} {
		parent := filepath.Join(e2e.Must(os.MkdirTemp("", "s"))(t), name)
		t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(parent)) })
		e2e.NoError(t, os.Mkdir(parent, 0o700))
		dir := e2e.Open(runtimes.MakeSocketDir(parent))(t)
		lis := e2e.Must(net.Listen("unix", dir.Socket()))(t)
		go func() { _ = grpc.Serve(t.Context(), lis, "f", empty, grpc.ServeOptions{}) }()
		client := e2e.Open(grpc.Dial(dir.Target(), grpc.Options{}))(t)
		e2e.NoError(t, e2e.Err(client.RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{})))
	}
}
