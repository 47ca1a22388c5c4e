// Package alpha renders Compositions with the functions of Crossplane v1.11 to
// v1.13: containers that read a FunctionIO from standard input and write one to
// standard output.
//
// Those versions called a runner by gRPC to run the containers. Package grpc
// has the client and the server of that protocol.
package alpha
