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
	"github.com/xfn-dev/xfn/internal/alpha/grpc/v1alpha1"
)

// stopGrace is how long Serve waits for calls in progress before it cancels them.
const stopGrace = 5 * time.Second

// Serve answers RunFunction calls on lis with the output of r, concurrently. r gets
// requests with defaults set. An error of r becomes the gRPC status that it carries, or
// Unknown with its text. Messages are limited to alpha.MaxMessage bytes. There is no
// health service and no reflection.
//
// Serve closes lis. When ctx is done it waits for the calls in progress, cancels them
// after five seconds, and returns nil. It returns an error if lis fails.
func Serve(ctx context.Context, lis net.Listener, r alpha.ContainerRunner) error {
	srv := grpc.NewServer(grpc.MaxRecvMsgSize(alpha.MaxMessage), grpc.WaitForHandlers(true))
	defer srv.Stop()
	srv.RegisterService(service(), &server{runner: r})

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

type server struct{ runner alpha.ContainerRunner }

func (s *server) run(ctx context.Context, msg *v1alpha1.RunFunctionRequest) (*v1alpha1.RunFunctionResponse, error) {
	if msg.GetImage() == "" {
		return nil, status.Error(codes.InvalidArgument, "the request has no image")
	}
	output, err := s.runner.RunContainer(ctx, decode(msg))
	if err != nil {
		return nil, err
	}
	return &v1alpha1.RunFunctionResponse{Output: output}, nil
}
