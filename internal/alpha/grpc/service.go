package grpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/alpha/grpc/v1alpha1"
)

const (
	serviceName = "apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService"
	methodName  = "RunFunction"
	fullMethod  = "/" + serviceName + "/" + methodName
)

// service returns the description of the gRPC service, which a *server implements.
func service() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: methodName, Handler: handle}},
	}
}

func handle(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	req := &v1alpha1.RunFunctionRequest{}
	if err := decode(req); err != nil {
		return nil, err
	}
	return srv.(*server).run(ctx, req)
}

// encode returns the message for a request. Like Crossplane it leaves empty fields out.
func encode(req alpha.ContainerRequest) *v1alpha1.RunFunctionRequest {
	config := &v1alpha1.RunFunctionConfig{}
	if req.CPU != "" || req.Memory != "" {
		config.Resources = &v1alpha1.ResourceConfig{Limits: &v1alpha1.ResourceLimits{Cpu: req.CPU, Memory: req.Memory}}
	}
	if req.Network != "" {
		config.Network = &v1alpha1.NetworkConfig{Policy: networkPolicies[req.Network]}
	}
	if req.Timeout != 0 {
		config.Timeout = durationpb.New(req.Timeout)
	}
	pull := &v1alpha1.ImagePullConfig{PullPolicy: pullPolicies[req.PullPolicy]}
	if a := req.Auth; a != nil {
		pull.Auth = &v1alpha1.ImagePullAuth{
			Username: a.Username, Password: a.Password, Auth: a.Auth,
			IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
		}
	}
	return &v1alpha1.RunFunctionRequest{Image: req.Image, Input: req.Input, ImagePullConfig: pull, RunFunctionConfig: config}
}

// decode returns the request of a message, with defaults set. Unknown enum
// values, such as those of a newer client, count as unspecified.
func decode(msg *v1alpha1.RunFunctionRequest) alpha.ContainerRequest {
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

var pullPolicies = map[alpha.PullPolicy]v1alpha1.ImagePullPolicy{
	alpha.PullIfNotPresent: v1alpha1.ImagePullPolicy_IMAGE_PULL_POLICY_IF_NOT_PRESENT,
	alpha.PullAlways:       v1alpha1.ImagePullPolicy_IMAGE_PULL_POLICY_ALWAYS,
	alpha.PullNever:        v1alpha1.ImagePullPolicy_IMAGE_PULL_POLICY_NEVER,
}

var networkPolicies = map[alpha.NetworkPolicy]v1alpha1.NetworkPolicy{
	alpha.NetworkIsolated: v1alpha1.NetworkPolicy_NETWORK_POLICY_ISOLATED,
	alpha.NetworkRunner:   v1alpha1.NetworkPolicy_NETWORK_POLICY_RUNNER,
}

// keyOf returns the key of a value, or the zero value.
func keyOf[K, V comparable](m map[K]V, value V) (key K) {
	for k, v := range m {
		if v == value {
			return k
		}
	}
	return key
}
