package grpc

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/xfn-dev/xfn/function"
)

const (
	// stopGrace is how long calls in progress may take after Serve stops.
	stopGrace = 5 * time.Second
	// handshakeLimit is how long a client may take to begin TLS and HTTP/2. A server that
	// stops waits for connections that have not begun, with gRPC's default for 2 minutes.
	handshakeLimit = stopGrace
)

// ServeOptions are the options of Serve. The zero value serves any client in plaintext.
type ServeOptions struct {
	// MaxMessageSize limits the size of a request, in bytes. Zero means
	// DefaultMaxMessageSize.
	MaxMessageSize int
	// Certificates require mutual TLS: each client must present a certificate that one of
	// their authorities has signed. Nil means plaintext.
	Certificates *Certificates
}

// Serve answers RunFunction calls on lis, of v1 and v1beta1, by calling r with the
// given function name. If an error of r has a gRPC status, the caller gets that
// status. Serve closes a connection whose client does not begin HTTP/2 within five seconds.
//
// Serve also answers the gRPC health protocol (grpc.health.v1), for the server ("") and
// both services: their status is SERVING until ctx is done. It answers gRPC reflection (v1
// and v1alpha), as functions of function-sdk-go do.
//
// Serve returns nil after ctx is done and running calls have ended, or five seconds
// later. It returns an error if lis fails. It closes lis.
func Serve(ctx context.Context, lis net.Listener, name string, r function.Runner, opts ServeOptions) error {
	if r == nil {
		return fmt.Errorf("serving function %q: the Runner is nil", name)
	}
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(cmp.Or(opts.MaxMessageSize, DefaultMaxMessageSize)),
		grpc.Creds(opts.Certificates.server()),
		grpc.ConnectionTimeout(handshakeLimit),
	)
	defer srv.Stop()
	status := register(srv, service{name: name, runner: r})

	defer context.AfterFunc(ctx, func() {
		status.Shutdown()
		timer := time.AfterFunc(stopGrace, srv.Stop)
		defer timer.Stop()
		srv.GracefulStop()
	})()
	if err := srv.Serve(lis); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving function %q at %q: %w", name, lis.Addr(), err)
	}
	return nil
}

// register registers the function as v1 and v1beta1, whose messages are the same on
// the wire, the health service and reflection.
func register(srv *grpc.Server, s service) *health.Server {
	beta := fnv1.FunctionRunnerService_ServiceDesc
	beta.ServiceName = fnv1beta1.FunctionRunnerService_ServiceDesc.ServiceName
	status := health.NewServer()
	for _, desc := range []*grpc.ServiceDesc{&fnv1.FunctionRunnerService_ServiceDesc, &beta} {
		srv.RegisterService(desc, s)
		status.SetServingStatus(desc.ServiceName, healthv1.HealthCheckResponse_SERVING)
	}
	healthv1.RegisterHealthServer(srv, status)
	reflection.Register(srv)
	return status
}

type service struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	name   string
	runner function.Runner
}

func (s service) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return s.runner.RunFunction(ctx, s.name, req)
}
