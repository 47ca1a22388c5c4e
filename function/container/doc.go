// Package container is what a function of the alpha is: a container that reads a
// FunctionIO from its standard input, and writes one to its standard output.
//
// Crossplane v1.11 to v1.13 did not run these containers themselves, but called
// a runner by gRPC. Package grpc below has both ends of that.
package container
