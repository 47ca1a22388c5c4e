// Package alpha renders Compositions with the functions of Crossplane v1.11 to
// v1.13. These functions are containers that read a FunctionIO from standard
// input and write a FunctionIO to standard output.
//
// Crossplane v1.11 to v1.13 called a runner by gRPC to run the containers.
// Package internal/alpha/grpc has the client and the server of this protocol.
package alpha
