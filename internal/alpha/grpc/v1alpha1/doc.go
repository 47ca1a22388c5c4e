// Package v1alpha1 are the messages of the runner's gRPC service, generated from
// run_function.proto by protoc-gen-go v1.36.11 and protoc 3.21, from the root of
// the repository:
//
//	protoc --go_out=. --go_opt=paths=source_relative function/container/grpc/v1alpha1/run_function.proto
package v1alpha1
