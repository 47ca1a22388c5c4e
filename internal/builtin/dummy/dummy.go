package dummy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
)

// TTL is how long an answer may be kept, unless the input says otherwise.
const TTL = 60 * time.Second

// Runner is the function.
var Runner = function.RunnerFunc(run)

// run merges the input's response, a RunFunctionResponse in its JSON form, over
// what came in: fields that it sets win, lists are appended, and the entries of
// maps are replaced one by one. Input that does not fit is a fatal result.
func run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{
		Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(TTL)},
	}
	if req.GetDesired() != nil {
		rsp.Desired = proto.CloneOf(req.GetDesired())
	}
	if req.GetContext() != nil {
		rsp.Context = proto.CloneOf(req.GetContext())
	}
	overlay, err := response(req.GetInput())
	if err != nil {
		rsp.Results = append(rsp.Results, &fnv1.Result{
			Severity: fnv1.Severity_SEVERITY_FATAL,
			Message:  err.Error(),
			Target:   fnv1.Target_TARGET_COMPOSITE.Enum(),
		})
		return rsp, nil
	}
	proto.Merge(rsp, overlay)
	return rsp, nil
}

// response reads the overlay out of the input. The words are the real
// function's, since they reach users as results.
func response(input *structpb.Struct) (*fnv1.RunFunctionResponse, error) {
	known := []string{"apiVersion", "kind", "metadata", "response"}
	for _, field := range slices.Sorted(maps.Keys(input.GetFields())) {
		if !slices.Contains(known, field) {
			return nil, fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: unknown field %q", field)
		}
	}
	var raw []byte
	if v, ok := input.GetFields()["response"]; ok {
		var err error
		if raw, err = json.Marshal(v.AsInterface()); err != nil {
			return nil, fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: %w", err)
		}
	}
	overlay := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(raw, overlay); err != nil {
		return nil, fmt.Errorf("cannot unmarshal RunFunctionResponse from *v1.RunFunctionRequest: %w", err)
	}
	return overlay, nil
}
