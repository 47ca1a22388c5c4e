package grpc

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xfn-dev/xfn/internal/alpha"
)

// The messages in run_function.proto. The protobuf library derives their encoding from the tags of
// the fields, so no code is generated.
type (
	// RunFunctionRequest is a request to run a container.
	RunFunctionRequest struct {
		Image             string             `protobuf:"bytes,1,opt,name=image,proto3"`
		Input             []byte             `protobuf:"bytes,2,opt,name=input,proto3"`
		ImagePullConfig   *ImagePullConfig   `protobuf:"bytes,3,opt,name=image_pull_config,proto3"`
		RunFunctionConfig *RunFunctionConfig `protobuf:"bytes,4,opt,name=run_function_config,proto3"`
	}
	// RunFunctionResponse has the standard output of a container.
	RunFunctionResponse struct {
		Output []byte `protobuf:"bytes,1,opt,name=output,proto3"`
	}
	// ImagePullConfig says how an image is pulled. PullPolicy is an index of pullPolicies.
	ImagePullConfig struct {
		PullPolicy int32       `protobuf:"varint,1,opt,name=pull_policy,proto3"`
		Auth       *alpha.Auth `protobuf:"bytes,2,opt,name=auth,proto3"`
	}
	// RunFunctionConfig says how a container runs.
	RunFunctionConfig struct {
		Resources *ResourceConfig      `protobuf:"bytes,1,opt,name=resources,proto3"`
		Network   *NetworkConfig       `protobuf:"bytes,2,opt,name=network,proto3"`
		Timeout   *durationpb.Duration `protobuf:"bytes,3,opt,name=timeout,proto3"`
	}
	// ResourceConfig has the limits of a container.
	ResourceConfig struct {
		Limits *ResourceLimits `protobuf:"bytes,1,opt,name=limits,proto3"`
	}
	// ResourceLimits are Kubernetes quantities, such as 100m.
	ResourceLimits struct {
		Memory string `protobuf:"bytes,1,opt,name=memory,proto3"`
		CPU    string `protobuf:"bytes,2,opt,name=cpu,proto3"`
	}
	// NetworkConfig names the network of a container. Policy is an index of networkPolicies.
	NetworkConfig struct {
		Policy int32 `protobuf:"varint,1,opt,name=policy,proto3"`
	}
)

// The methods implement protoadapt.MessageV1.

// Reset sets m to the zero value.
func (m *RunFunctionRequest) Reset() { *m = RunFunctionRequest{} }

// String returns the fields for messages.
func (m *RunFunctionRequest) String() string { return fmt.Sprintf("%+v", *m) }

// ProtoMessage marks a message.
func (*RunFunctionRequest) ProtoMessage() {}

// Reset sets m to the zero value.
func (m *RunFunctionResponse) Reset() { *m = RunFunctionResponse{} }

// String returns the fields for messages.
func (m *RunFunctionResponse) String() string { return fmt.Sprintf("%+v", *m) }

// ProtoMessage marks a message.
func (*RunFunctionResponse) ProtoMessage() {}

// The policies, in the order of their numbers in the messages.
var (
	pullPolicies    = []alpha.PullPolicy{"", alpha.PullIfNotPresent, alpha.PullAlways, alpha.PullNever}
	networkPolicies = []alpha.NetworkPolicy{"", alpha.NetworkIsolated, alpha.NetworkRunner}
)

func number[P comparable](all []P, policy P) int32 { return int32(max(slices.Index(all, policy), 0)) }

// policy returns the policy with a number. Unknown numbers, such as numbers from a newer client,
// count as unspecified.
func policy[P any](all []P, n int32) P {
	if n < 0 || int(n) >= len(all) {
		return all[0]
	}
	return all[n]
}

// encode returns the gRPC message for a request. Like Crossplane, it omits empty fields.
func encode(req alpha.ContainerRequest) *RunFunctionRequest {
	config := &RunFunctionConfig{}
	if req.CPU != "" || req.Memory != "" {
		config.Resources = &ResourceConfig{&ResourceLimits{CPU: req.CPU, Memory: req.Memory}}
	}
	if req.Network != "" {
		config.Network = &NetworkConfig{number(networkPolicies, req.Network)}
	}
	if req.Timeout != 0 {
		config.Timeout = durationpb.New(req.Timeout)
	}
	return &RunFunctionRequest{req.Image, req.Input, &ImagePullConfig{number(pullPolicies, req.PullPolicy), req.Auth}, config}
}

// decode returns the request in a gRPC message, with defaults set.
func decode(msg *RunFunctionRequest) alpha.ContainerRequest {
	pull, config := cmp.Or(msg.ImagePullConfig, &ImagePullConfig{}), cmp.Or(msg.RunFunctionConfig, &RunFunctionConfig{})
	limits := cmp.Or(cmp.Or(config.Resources, &ResourceConfig{}).Limits, &ResourceLimits{})
	return alpha.ContainerRequest{
		Image: msg.Image, Input: msg.Input, PullPolicy: policy(pullPolicies, pull.PullPolicy), Auth: pull.Auth,
		CPU: limits.CPU, Memory: limits.Memory,
		Network: policy(networkPolicies, cmp.Or(config.Network, &NetworkConfig{}).Policy),
		Timeout: config.Timeout.AsDuration(),
	}.Complete()
}
