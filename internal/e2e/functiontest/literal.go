package functiontest

import (
	"context"
	"encoding/json"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xfn-dev/xfn/function"
)

// input is the input of a Literal function. One field is set.
type input struct {
	Response  json.RawMessage   `json:"response"`
	Sequence  []json.RawMessage `json:"sequence"`
	GRPCError *struct {
		Code    uint32 `json:"code"`
		Message string `json:"message"`
	} `json:"grpcError"`
}

// Literal returns the function "function-literal" of the golden cases. Its response
// depends only on its input:
//
//   - response: the value is the RunFunctionResponse, in protobuf's JSON form.
//   - sequence: the response is element N of this list, or the last element. N is
//     the number of keys in the request's required_resources and extra_resources.
//   - grpcError: the function returns an error with this code and message.
//
// Any other input is an error.
func Literal() function.Runner { return function.RunnerFunc(literal) }

func literal(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	in, err := parseInput(req)
	if err != nil {
		return nil, fmt.Errorf("reading the input of function %q: %w", name, err)
	}
	if in.GRPCError != nil {
		return nil, status.Error(codes.Code(in.GRPCError.Code), in.GRPCError.Message)
	}
	answer := in.Response
	if n := len(in.Sequence); n > 0 {
		turn := keys(req, "required_resources") + keys(req, "extra_resources")
		answer = in.Sequence[min(turn, n-1)]
	}
	if answer == nil {
		return nil, fmt.Errorf("reading the input of function %q: the input has none of the fields response, sequence and grpcError", name)
	}
	rsp := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(answer, rsp); err != nil {
		return nil, fmt.Errorf("reading the response in the input of function %q: %w", name, err)
	}
	return rsp, nil
}

// keys counts the keys of the map field with this name. It does not use generated
// methods, because linters report the deprecated field extra_resources.
func keys(req *fnv1.RunFunctionRequest, field protoreflect.Name) int {
	m := req.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByName(field)).Map().Len()
}

func parseInput(req *fnv1.RunFunctionRequest) (input, error) {
	in := input{}
	raw, err := protojson.Marshal(req.GetInput())
	if err != nil {
		return in, err
	}
	return in, json.Unmarshal(raw, &in)
}
