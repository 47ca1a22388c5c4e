// Package grpc connects to runners of containers, and serves them, by the
// service apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService: in
// plaintext, and for anybody who can connect.
package grpc
