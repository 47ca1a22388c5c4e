package reconciler_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestEncode compares the encoding of requests with that of the protobuf library: its hash is
// the tag of a request, which functions see.
func TestEncode(t *testing.T) {
	t.Parallel()
	object := func(fields map[string]any) *structpb.Struct {
		s := e2e.Must(structpb.NewStruct(fields))(t)
		return s
	}
	shared := structpb.NewNumberValue(1)
	long := object(map[string]any{"": "", "b": nil, "a": strings.Repeat("é", 100), "c": map[string]any{}, "d": []any{}, "n": 0})
	long.Fields["list"] = structpb.NewListValue(&structpb.ListValue{Values: append(slices.Repeat([]*structpb.Value{shared}, 100_000),
		structpb.NewBoolValue(false), structpb.NewNullValue(), structpb.NewStringValue("x"), structpb.NewStringValue(""), structpb.NewNumberValue(-0.5),
		structpb.NewStructValue(object(map[string]any{"z": 1, "y": []any{1, 1, []any{2}}})), structpb.NewListValue(&structpb.ListValue{}), shared)})
	resources := map[string]*fnv1.Resource{"b": {Resource: long}, "a": {Ready: fnv1.Ready_READY_TRUE}}
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
	}{
		"Empty":   {"a request of an Operation has no XR", &fnv1.RunFunctionRequest{Observed: &fnv1.State{}}},
		"NoState": {"a request may have no observed state", &fnv1.RunFunctionRequest{Input: long}},
		"XR":      {"the XR has values of all types", &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: long}}}},
		"EmptyXR": {"the XR has no fields", &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: &structpb.Struct{}}}}},
		"All": {"all fields of a request are set", &fnv1.RunFunctionRequest{
			Observed: &fnv1.State{Composite: &fnv1.Resource{
				Resource: long, ConnectionDetails: map[string][]byte{"b": {1}, "a": nil}, Ready: fnv1.Ready_READY_FALSE,
			}, Resources: resources},
			Desired: &fnv1.State{Composite: &fnv1.Resource{Resource: long}, Resources: resources}, Input: long, Context: long,
			Credentials:       map[string]*fnv1.Credentials{"c": {Source: &fnv1.Credentials_CredentialData{CredentialData: &fnv1.CredentialData{Data: map[string][]byte{"k": {1}}}}}},
			RequiredResources: map[string]*fnv1.Resources{"r": {Items: []*fnv1.Resource{{Resource: long}}}},
			RequiredSchemas:   map[string]*fnv1.Schema{"s": {}},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := e2e.Must(proto.MarshalOptions{Deterministic: true}.Marshal(tc.req))(t)
			var got bytes.Buffer
			if err := reconciler.Encode(&got, tc.req); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s: got %d bytes and error %v, want %d other bytes", tc.reason, got.Len(), err, len(want))
			}
		})
	}
}
