// Package v1alpha1 has the messages of the runner's gRPC service, generated
// from run_function.proto by protoc-gen-go v1.36.11 and protoc 3.21, from the
// root of the repository:
//
//	protoc --go_out=. --go_opt=paths=source_relative internal/alpha/grpc/v1alpha1/run_function.proto
package v1alpha1
