// Package grpc has a client and a server for the gRPC protocol by which
// Crossplane v1.11 to v1.13 call a runner: the service
// apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService, in
// plaintext and without authentication. Its messages are generated from run_function.proto
// by protoc-gen-go v1.36.11 and protoc 3.21, from the root of the repository:
//
//	protoc --go_out=. --go_opt=paths=source_relative internal/alpha/grpc/run_function.proto
package grpc
