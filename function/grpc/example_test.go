package grpc_test

import (
	"context"
	"fmt"
	"net"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
)

// A function is served and called over gRPC, in plaintext.
func ExampleServe() {
	hello := function.RunnerFunc(func(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag() + " from " + name}}, nil
	})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- grpc.Serve(ctx, lis, "function-hello", hello, grpc.ServeOptions{}) }()

	client, err := grpc.Dial(lis.Addr().String(), grpc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rsp, err := client.RunFunction(ctx, "function-hello", &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "hello"}})
	fmt.Println(rsp.GetMeta().GetTag(), err)
	fmt.Println(client.Close())
	cancel()
	fmt.Println(<-served)
	// Output:
	// hello from function-hello <nil>
	// <nil>
	// <nil>
}
