package autoready

import (
	"context"
	"fmt"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// Input is the function's input. All fields are optional.
type Input struct {
	// APIVersion, Kind and Metadata are ignored.
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`

	// TTL is a Go duration, which may be zero or negative. The default is
	// sdk.TTL.
	TTL string `json:"ttl"`
	// The alpha feature of these fields is off. They have no effect.
	CELHealthCheckCustomization     map[string]string `json:"celHealthCheckCustomization"`
	CELHealthCheckCustomizationFrom string            `json:"celHealthCheckCustomizationFrom"`
}

// Runner is the function.
var Runner = function.RunnerFunc(run)

// run marks each desired resource as ready if its readiness is unspecified and
// its observed resource is ready. It drops connection details like the real
// function.
func run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in := &Input{}
	if err := sdk.Decode(req.GetInput(), in); err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: %w", err)), nil
	}
	if in.TTL != "" {
		ttl, err := time.ParseDuration(in.TTL)
		if err != nil {
			return sdk.Fatal(rsp, fmt.Errorf("cannot set ttl: %w", err)), nil
		}
		rsp.Meta.Ttl = durationpb.New(ttl)
	}
	rsp.Desired = &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: sdk.Desired(req)}
	for name, d := range rsp.GetDesired().GetResources() {
		switch d.GetReady() {
		case fnv1.Ready_READY_TRUE, fnv1.Ready_READY_FALSE:
		case fnv1.Ready_READY_UNSPECIFIED:
			if o, ok := req.GetObserved().GetResources()[name]; ok && ready(o.GetResource()) {
				d.Ready = fnv1.Ready_READY_TRUE
			}
		default:
			d.Ready = fnv1.Ready_READY_UNSPECIFIED
		}
	}
	return rsp, nil
}
