package dummy

import (
	"context"
	"encoding/json"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// Response is the function's input.
type Response struct {
	// APIVersion, Kind and Metadata are not looked at.
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`

	// Response is a RunFunctionResponse in protobuf's JSON form.
	Response json.RawMessage `json:"response"`
}

// Runner is the function.
var Runner = function.RunnerFunc(run)

// run merges the input's response over what came in: fields that it sets win,
// lists are appended, and the entries of maps are replaced one by one. Input
// that does not fit is a fatal result, in the real function's words.
func run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in := &Response{}
	if err := sdk.Decode(req.GetInput(), in); err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: %w", err)), nil
	}
	overlay := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(in.Response, overlay); err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("cannot unmarshal RunFunctionResponse from *v1.RunFunctionRequest: %w", err)), nil
	}
	// Desired state and context are still the request's own.
	if overlay.Desired != nil {
		rsp.Desired = proto.CloneOf(rsp.Desired)
	}
	if overlay.Context != nil {
		rsp.Context = proto.CloneOf(rsp.Context)
	}
	proto.Merge(rsp, overlay)
	return rsp, nil
}
