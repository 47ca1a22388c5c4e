package grpc

import (
	"context"
	"fmt"
	"net"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xfn-dev/xfn/function"
)

// stopGrace is how long calls in progress may take after Serve stops.
const stopGrace = 5 * time.Second

// ServeOptions are the options of Serve. The zero value serves any client in plaintext.
type ServeOptions struct {
	// Certificates require mutual TLS: each client must present a certificate that one of
	// their authorities has signed. Nil means plaintext.
	Certificates *Certificates
}

// Serve answers RunFunction calls on lis, of v1 and v1beta1, by calling r with the
// given function name. If an error of r has a gRPC status, the caller gets that
// status. Requests have at most DefaultMaxMessageSize bytes.
//
// Serve also answers the gRPC health protocol (grpc.health.v1), for the server ("") and
// both services: their status is SERVING until ctx is done.
//
// Serve returns nil after ctx is done and running calls have ended, or five seconds
// later. It returns an error if lis fails. It closes lis.
func Serve(ctx context.Context, lis net.Listener, name string, r function.Runner, opts ServeOptions) error {
	srv := grpc.NewServer(grpc.MaxRecvMsgSize(DefaultMaxMessageSize), grpc.Creds(opts.Certificates.server()))
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
// the wire, and the health service.
func register(srv *grpc.Server, s service) *health.Server {
	beta := fnv1.FunctionRunnerService_ServiceDesc
	beta.ServiceName = fnv1beta1.FunctionRunnerService_ServiceDesc.ServiceName
	status := health.NewServer()
	for _, desc := range []*grpc.ServiceDesc{&fnv1.FunctionRunnerService_ServiceDesc, &beta} {
		srv.RegisterService(desc, s)
		status.SetServingStatus(desc.ServiceName, healthv1.HealthCheckResponse_SERVING)
	}
	healthv1.RegisterHealthServer(srv, status)
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
