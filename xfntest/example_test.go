package xfntest_test

import (
	"context"
	"errors"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/render"
	"github.com/xfn-dev/xfn/xfntest"
)

// Function is a function for function-sdk-go: it composes a Bucket in the
// region of the composite resource.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (*Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{Desired: req.GetDesired(), Context: req.GetContext()}
	spec := req.GetObserved().GetComposite().GetResource().GetFields()["spec"].GetStructValue().AsMap()
	if spec["region"] == nil {
		rsp.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL, Message: "spec.region is missing"}}
		return rsp, nil
	}
	bucket, err := structpb.NewStruct(map[string]any{
		"apiVersion": "s3.example.org/v1", "kind": "Bucket",
		"spec": map[string]any{"region": spec["region"], "tier": spec["tier"]},
	})
	if err != nil {
		return nil, err
	}
	if rsp.GetDesired().GetResources() == nil {
		rsp.Desired = &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: map[string]*fnv1.Resource{}}
	}
	rsp.Desired.Resources["bucket"] = &fnv1.Resource{Resource: bucket}
	rsp.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_NORMAL, Message: "composed a Bucket"}}
	rsp.Conditions = []*fnv1.Condition{{Type: "Planned", Status: fnv1.Status_STATUS_CONDITION_TRUE, Reason: "Done"}}
	return rsp, nil
}

func functions() map[string]fnv1.FunctionRunnerServiceServer {
	return map[string]fnv1.FunctionRunnerServiceServer{"function-bucket": &Function{}}
}

// The function under test is called in process. The step of function-auto-ready
// calls the function of that name in this package.
func ExampleRun() {
	got, err := xfntest.Run(context.Background(), xfntest.Case{
		XR:          "testdata/xr.yaml",
		Composition: "testdata/composition.yaml",
		Functions:   functions(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Composed["bucket"].GetKind(), got.Composed["bucket"].Object["spec"])
	fmt.Println(got.Results["bucket"][0].GetMessage())
	for _, c := range got.Conditions {
		fmt.Println(c.Type, c.Status)
	}
	// Output:
	// Bucket map[region:eu-north-1 tier:<nil>]
	// composed a Bucket
	// Responsive True
	// Planned True
	// Synced True
	// Ready False
}

// The composed resource exists and is ready, and so is the composite resource. The
// default of the XRD is in the request.
func ExampleRun_observed() {
	got, err := xfntest.Run(context.Background(), xfntest.Case{
		XR:          "testdata/xr.yaml",
		XRD:         "testdata/xrd.yaml",
		Composition: "testdata/composition.yaml",
		Observed:    []string{"testdata/observed.yaml"},
		Functions:   functions(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Composed["bucket"].GetName(), got.Composed["bucket"].Object["spec"])
	for _, c := range got.Conditions {
		if c.Type == "Ready" {
			fmt.Println(c.Type, c.Status)
		}
	}
	// Output:
	// photos-7f3a9 map[region:eu-north-1 tier:standard]
	// Ready True
}

// Run returns a *render.FatalError for a FATAL result of a function.
func ExampleRun_fatal() {
	_, err := xfntest.Run(context.Background(), xfntest.Case{
		XR:          "testdata/no-region.yaml",
		Composition: "testdata/composition.yaml",
		Functions:   functions(),
	})
	var fatal *render.FatalError
	fmt.Println(errors.As(err, &fatal))
	fmt.Println(fatal.Step, "says:", fatal.Message)
	// Output:
	// true
	// bucket says: spec.region is missing
}
