package grpc_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/alpha"
	containergrpc "github.com/xfn-dev/xfn/internal/alpha/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestServeEndsIdleConnections checks that Serve ends and closes a connection without HTTP/2,
// long before the default limit of gRPC, which is two minutes.
func TestServeEndsIdleConnections(t *testing.T) {
	t.Parallel()
	lis := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	empty := alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) { return nil, nil })
	go func() { served <- containergrpc.Serve(ctx, lis, empty) }()
	idle := e2e.Must(net.Dial("tcp", lis.Addr().String()))(t)
	defer idle.Close()
	// The server accepts connections in order: after this call, it has accepted idle.
	e2e.NoError(t, e2e.Err(dial(t, "dns:///"+lis.Addr().String()).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"})))
	cancel()
	e2e.NoError(t, idle.SetReadDeadline(time.Now().Add(time.Minute)))
	e2e.WantError(t, "an idle connection is closed", e2e.Err(io.Copy(io.Discard, idle)), "")
	e2e.WantError(t, "Serve does not wait for an idle connection", e2e.Receive(t, served), "")
}
