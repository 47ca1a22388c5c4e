package grpc

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xfn-dev/xfn/internal/alpha"
)

// stopGrace is how long Serve waits for calls in progress before it cancels them.
const stopGrace = 5 * time.Second

// Serve answers RunFunction calls on lis with the output of r, concurrently. Requests to r
// have their defaults set. If an error of r has a gRPC status, Serve returns this status to
// the caller, otherwise the status Unknown with the error's text. Messages are limited to
// alpha.MaxMessage bytes. There is no health service and no reflection.
//
// Serve closes lis. When ctx is done, Serve waits for the calls in progress, cancels them
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

func (s *server) run(ctx context.Context, msg *RunFunctionRequest) (*RunFunctionResponse, error) {
	if msg.GetImage() == "" {
		return nil, status.Error(codes.InvalidArgument, "the request has no image")
	}
	output, err := s.runner.RunContainer(ctx, decode(msg))
	if err != nil {
		return nil, err
	}
	return &RunFunctionResponse{Output: output}, nil
}

const (
	serviceName = "apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService"
	methodName  = "RunFunction"
	fullMethod  = "/" + serviceName + "/" + methodName
)

// service returns the description of the gRPC service that a *server implements.
func service() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: methodName, Handler: handle}},
	}
}

func handle(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	req := &RunFunctionRequest{}
	if err := decode(req); err != nil {
		return nil, err
	}
	return srv.(*server).run(ctx, req)
}

// encode returns the gRPC message for a request. Like Crossplane, it omits empty fields.
func encode(req alpha.ContainerRequest) *RunFunctionRequest {
	config := &RunFunctionConfig{}
	if req.CPU != "" || req.Memory != "" {
		config.Resources = &ResourceConfig{Limits: &ResourceLimits{Cpu: req.CPU, Memory: req.Memory}}
	}
	if req.Network != "" {
		config.Network = &NetworkConfig{Policy: networkPolicies[req.Network]}
	}
	if req.Timeout != 0 {
		config.Timeout = durationpb.New(req.Timeout)
	}
	pull := &ImagePullConfig{PullPolicy: pullPolicies[req.PullPolicy]}
	if a := req.Auth; a != nil {
		pull.Auth = &ImagePullAuth{
			Username: a.Username, Password: a.Password, Auth: a.Auth,
			IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
		}
	}
	return &RunFunctionRequest{Image: req.Image, Input: req.Input, ImagePullConfig: pull, RunFunctionConfig: config}
}

// decode returns the request in a gRPC message, with defaults set. Unknown enum
// values, such as those of a newer client, count as unspecified.
func decode(msg *RunFunctionRequest) alpha.ContainerRequest {
	config := msg.GetRunFunctionConfig()
	req := alpha.ContainerRequest{
		Image:      msg.GetImage(),
		Input:      msg.GetInput(),
		PullPolicy: keyOf(pullPolicies, msg.GetImagePullConfig().GetPullPolicy()),
		CPU:        config.GetResources().GetLimits().GetCpu(),
		Memory:     config.GetResources().GetLimits().GetMemory(),
		Network:    keyOf(networkPolicies, config.GetNetwork().GetPolicy()),
		Timeout:    config.GetTimeout().AsDuration(),
	}
	if a := msg.GetImagePullConfig().GetAuth(); a != nil {
		req.Auth = &alpha.Auth{
			Username: a.GetUsername(), Password: a.GetPassword(), Auth: a.GetAuth(),
			IdentityToken: a.GetIdentityToken(), RegistryToken: a.GetRegistryToken(),
		}
	}
	return req.Complete()
}

var pullPolicies = map[alpha.PullPolicy]ImagePullPolicy{
	alpha.PullIfNotPresent: ImagePullPolicy_IMAGE_PULL_POLICY_IF_NOT_PRESENT,
	alpha.PullAlways:       ImagePullPolicy_IMAGE_PULL_POLICY_ALWAYS,
	alpha.PullNever:        ImagePullPolicy_IMAGE_PULL_POLICY_NEVER,
}

var networkPolicies = map[alpha.NetworkPolicy]NetworkPolicy{
	alpha.NetworkIsolated: NetworkPolicy_NETWORK_POLICY_ISOLATED,
	alpha.NetworkRunner:   NetworkPolicy_NETWORK_POLICY_RUNNER,
}

// keyOf returns the key of a value in m, or the zero value if m does not have the value.
func keyOf[K, V comparable](m map[K]V, value V) (key K) {
	for k, v := range m {
		if v == value {
			return k
		}
	}
	return key
}
