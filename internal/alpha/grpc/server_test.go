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
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	e2e.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	empty := alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) { return nil, nil })
	go func() { served <- containergrpc.Serve(ctx, lis, empty) }()
	idle, err := net.Dial("tcp", lis.Addr().String())
	e2e.NoError(t, err)
	defer idle.Close()
	// The server accepts connections in order: after this call, it has accepted idle.
	if _, err := dial(t, "dns:///"+lis.Addr().String()).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"}); err != nil {
		t.Fatal(err)
	}
	cancel()
	e2e.NoError(t, idle.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, idle); err != nil {
		t.Errorf("the idle connection: %v", err)
	}
	if err := e2e.Receive(t, served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}
