package grpc

import (
	"context"
	"fmt"
	"net"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc"

	"github.com/xfn-dev/xfn/function"
)

// stopGrace is how long calls under way may take to finish once Serve stops.
const stopGrace = 5 * time.Second

// Serve answers RunFunction calls on lis, by v1 and by v1beta1, by passing
// them to r under the given function name. An error of r that carries a gRPC
// status is answered as that status. Requests may have DefaultMaxMessageSize.
//
// Serve closes lis. It returns nil after ctx is done and the calls under way
// are, for which it waits five seconds, and an error if lis fails.
func Serve(ctx context.Context, lis net.Listener, name string, r function.Runner) error {
	srv := grpc.NewServer(grpc.MaxRecvMsgSize(DefaultMaxMessageSize))
	defer srv.Stop()
	beta := fnv1.FunctionRunnerService_ServiceDesc
	beta.ServiceName = fnv1beta1.FunctionRunnerService_ServiceDesc.ServiceName
	srv.RegisterService(&fnv1.FunctionRunnerService_ServiceDesc, service{name: name, runner: r})
	srv.RegisterService(&beta, service{name: name, runner: r})

	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(stopGrace, srv.Stop)
		defer timer.Stop()
		srv.GracefulStop()
	})()
	if err := srv.Serve(lis); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving function %q at %q: %w", name, lis.Addr(), err)
	}
	return nil
}

type service struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	name   string
	runner function.Runner
}

func (s service) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return s.runner.RunFunction(ctx, s.name, req)
}
