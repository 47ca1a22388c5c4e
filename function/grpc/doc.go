// Package grpc calls and serves composition functions over gRPC, in plaintext or with
// mutual TLS. It supports the protocol apiextensions.fn.proto.v1, and v1beta1 for
// functions older than Crossplane v1.17.
package grpc
