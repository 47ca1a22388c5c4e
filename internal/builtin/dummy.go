package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
)

func dummy() Builtin {
	return Builtin{
		Name: "function-dummy", Measured: "v0.4.1", From: "v0.4.0", Below: "v0.5.0",
		Input:   inputOf[Response]("dummy.fn.crossplane.io/v1beta1 Response", composition.Input{}),
		Covered: "`response`.",
		New:     func(Options) function.Runner { return function.RunnerFunc(runDummy) },
		locate: func(fatal string, input []byte) (string, int) {
			field, _ := dummyFault(fatal, input)
			return field, 1
		},
	}
}

// Response is the input of function-dummy v0.4.1. Error texts contain the name of
// this type, so it is the same as in the real function.
type Response struct {
	sdk.Meta `json:",inline"`

	// Response is a RunFunctionResponse in the JSON format of protobuf.
	Response json.RawMessage `json:"response" required:""`
}

// badResponse begins the message of a fatal result about a response that cannot be decoded.
const badResponse = "cannot unmarshal RunFunctionResponse"

// dummyFault returns the field in an input of function-dummy to which a fatal result refers, and
// what is wrong with it. Both are "" if that is not known.
func dummyFault(fatal string, input []byte) (field, text string) {
	var in struct{ Response any }
	if !strings.HasPrefix(fatal, badResponse) || json.Unmarshal(input, &in) != nil {
		return "", ""
	}
	if _, ok := in.Response.(map[string]any); !ok {
		return "response", "must be an object with the fields of a RunFunctionResponse"
	}
	return sdk.ResponseFault(in.Response)
}

// runDummy implements function-dummy. It merges the response in the input into a
// response with the desired state and context of the request. It merges like
// proto.Merge: fields that are set replace existing ones, lists are appended, and
// map entries are replaced. An invalid input is a fatal result.
func runDummy(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in, err := sdk.Input[Response](req)
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	overlay := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(in.Response, overlay); err != nil {
		return sdk.Fatal(rsp, fmt.Errorf("%s from *v1.RunFunctionRequest: %w", badResponse, err)), nil
	}
	// rsp shares Desired and Context with the request. Clones of them are merged,
	// so that the request does not change.
	if overlay.Desired != nil {
		rsp.Desired = proto.CloneOf(rsp.Desired)
	}
	if overlay.Context != nil {
		rsp.Context = proto.CloneOf(rsp.Context)
	}
	proto.Merge(rsp, overlay)
	return rsp, nil
}
