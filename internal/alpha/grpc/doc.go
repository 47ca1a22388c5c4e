// Package grpc has a client and a server of runners, for the service
// apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService: in
// plaintext and without authentication.
package grpc
