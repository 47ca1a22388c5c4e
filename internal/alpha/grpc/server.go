package grpc

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/internal/alpha"
)

const (
	// stopGrace is how long Serve waits for calls in progress before it cancels them.
	stopGrace = 5 * time.Second
	// handshakeLimit is how long a client may take to begin HTTP/2. A server that stops waits
	// for connections that have not begun, with gRPC's default for 2 minutes.
	handshakeLimit = stopGrace
)

// Serve answers RunFunction calls on lis with the output of r, concurrently. Requests to r
// have their defaults set. If an error of r has a gRPC status, Serve returns this status to
// the caller, otherwise the status Unknown with the error's text. Messages are limited to
// alpha.MaxMessage bytes. There is no health service and no reflection. Serve closes a
// connection whose client does not begin HTTP/2 within five seconds.
//
// Serve closes lis. When ctx is done, Serve waits for the calls in progress, cancels them
// after five seconds, and returns nil. It returns an error if lis fails.
func Serve(ctx context.Context, lis net.Listener, r alpha.ContainerRunner) error {
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(alpha.MaxMessage),
		grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(handshakeLimit),
	)
	defer srv.Stop()
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*alpha.ContainerRunner)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: methodName, Handler: handle}},
	}, r)

	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(stopGrace, srv.Stop)
		defer timer.Stop()
		srv.GracefulStop()
	})()
	if err := srv.Serve(lis); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving containers at %q: %w", lis.Addr(), err)
	}
	return nil
}

const (
	serviceName = "apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService"
	methodName  = "RunFunction"
	fullMethod  = "/" + serviceName + "/" + methodName
)

// handle answers a call with the output of runner, which is an alpha.ContainerRunner.
func handle(runner any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	msg := &RunFunctionRequest{}
	if err := read(msg); err != nil {
		return nil, err
	}
	if msg.Image == "" {
		return nil, status.Error(codes.InvalidArgument, "the request has no image")
	}
	output, err := runner.(alpha.ContainerRunner).RunContainer(ctx, decode(msg))
	if err != nil {
		return nil, err
	}
	return &RunFunctionResponse{Output: output}, nil
}
