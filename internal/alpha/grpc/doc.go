// Package grpc has a client and a server for the gRPC protocol by which
// Crossplane v1.11 to v1.13 call a runner: the service
// apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService, in
// plaintext and without authentication. The file run_function.proto describes it.
package grpc
