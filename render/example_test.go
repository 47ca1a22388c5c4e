package render_test

import (
	"context"
	"errors"
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/render"
)

// exampleRequest is an XBucket, and a Composition that calls function-bucket.
func exampleRequest() render.Request {
	c := &apiextv1.Composition{}
	c.Name = "buckets"
	c.Spec.CompositeTypeRef = apiextv1.TypeReference{APIVersion: "example.org/v1", Kind: "XBucket"}
	c.Spec.Mode = apiextv1.CompositionModePipeline
	c.Spec.Pipeline = []apiextv1.PipelineStep{{Step: "bucket", FunctionRef: apiextv1.FunctionReference{Name: "function-bucket"}}}
	return render.Request{
		Composition: c,
		XR: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": "XBucket",
			"metadata": map[string]any{"name": "photos"},
		}},
	}
}

// exampleBucket composes a Bucket.
var exampleBucket = function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	object, err := structpb.NewStruct(map[string]any{"apiVersion": "s3.example.org/v1", "kind": "Bucket"})
	if err != nil {
		return nil, err
	}
	return &fnv1.RunFunctionResponse{
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"bucket": {Resource: object}}},
		Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_NORMAL, Message: "composed a Bucket"}},
	}, nil
})

// Render calls the function of the pipeline in this process.
func ExampleRender() {
	got, err := render.Render(context.Background(), function.Mux{"function-bucket": exampleBucket}, exampleRequest())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range got.Composed {
		u := unstructured.Unstructured{Object: object}
		fmt.Println(u.GetKind(), u.GetLabels())
	}
	// Output: Bucket map[crossplane.io/composite:photos]
}

// A FATAL result of a function is an error.
func ExampleFatalError() {
	refuse := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL, Message: "the quota is used up"}}}, nil
	})
	_, err := render.Render(context.Background(), refuse, exampleRequest())
	if fatal, ok := errors.AsType[*render.FatalError](err); ok {
		fmt.Printf("step %s of function %s: %s\n", fatal.Step, fatal.Function, fatal.Message)
	}
	// Output: step bucket of function function-bucket: the quota is used up
}

// Documents returns the documents that a command would print.
func ExampleResult_Documents() {
	got, err := render.Render(context.Background(), exampleBucket, exampleRequest())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, doc := range got.Documents(render.Include{Results: true}) {
		fmt.Println(doc["kind"], doc["message"])
	}
	// Output:
	// XBucket <nil>
	// Bucket <nil>
	// Result Successfully selected composition: buckets
	// Result Pipeline step "bucket": composed a Bucket
	// Result Composed resource "bucket" is not yet ready
}

func ExampleForCrossplane() {
	for _, version := range []string{"v2.4.0", "v2.1", "v1.20.1", "v1.10"} {
		fmt.Println(render.ForCrossplane(version))
	}
	// Output:
	// v2 <nil>
	// classic <nil>
	// v1.20 <nil>
	//  version v1.10 of Crossplane has no functions: expected v1.11 or later
}
