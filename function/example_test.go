package function_test

import (
	"context"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
)

// A Go function can be a Runner.
func ExampleRunnerFunc() {
	hello := function.RunnerFunc(func(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: "hello from " + name}}}, nil
	})
	rsp, err := hello.RunFunction(context.Background(), "function-hello", &fnv1.RunFunctionRequest{})
	fmt.Println(rsp.GetResults()[0].GetMessage(), err)
	// Output: hello from function-hello <nil>
}

// A Mux calls the Runner of each function.
func ExampleMux() {
	mux := function.Mux{"function-a": function.RunnerFunc(func(ctx context.Context, name string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: name + " in step " + function.Step(ctx)}}}, nil
	})}
	ctx := function.WithStep(context.Background(), "first")
	rsp, err := mux.RunFunction(ctx, "function-a", &fnv1.RunFunctionRequest{})
	fmt.Println(rsp.GetResults()[0].GetMessage(), err)
	_, err = mux.RunFunction(ctx, "function-b", &fnv1.RunFunctionRequest{})
	fmt.Println(err)
	// Output:
	// function-a in step first <nil>
	// unknown Function "function-b"
}
