// Package alpha renders Compositions with the functions of Crossplane v1.11 to
// v1.13: containers that read a FunctionIO from standard input and write one to
// standard output.
//
// Those versions did not run the containers themselves but called a runner by
// gRPC. Package grpc has both ends of that protocol.
package alpha
