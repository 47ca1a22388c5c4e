// Package grpc calls functions over gRPC, and serves them: the protocol that
// Crossplane and its functions speak (apiextensions.fn.proto.v1, and v1beta1
// for functions older than Crossplane v1.17), in plaintext or by mutual TLS.
package grpc
