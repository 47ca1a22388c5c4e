package reconciler_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestEncode compares the encoding of requests with the encoding by the protobuf library. The
// hash of the encoding is the tag of a request, which functions see.
func TestEncode(t *testing.T) {
	t.Parallel()
	object := func(fields map[string]any) *structpb.Struct {
		return e2e.Must(structpb.NewStruct(fields))(t)
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

// TestLongList checks that functions get the values of a long list, of which equal scalars
// share memory.
func TestLongList(t *testing.T) {
	t.Parallel()
	values := slices.Repeat([]any{int64(1), "a", nil, true, 0.5, map[string]any{"b": int64(1)}, []any{"a"}}, 1000)
	xr := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "XR", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"long": values},
	}}
	want := slices.Repeat([]any{1.0, "a", nil, true, 0.5, map[string]any{"b": 1.0}, []any{"a"}}, 1000)
	run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		list := req.GetObserved().GetComposite().GetResource().GetFields()["spec"].GetStructValue().GetFields()["long"].GetListValue()
		e2e.Equal(t, "the encoded list has all values", want, list.AsSlice())
		if list.GetValues()[0] != list.GetValues()[7] {
			t.Error("equal numbers of a long list do not share memory")
		}
		if list.GetValues()[5] == list.GetValues()[12] {
			t.Error("objects of a list share memory")
		}
		return &fnv1.RunFunctionResponse{}, nil
	})
	in := reconciler.Input{XR: xr, Composition: &apiextv1.Composition{Spec: apiextv1.CompositionSpec{
		Pipeline: []apiextv1.PipelineStep{{Step: "a", FunctionRef: apiextv1.FunctionReference{Name: "f"}}},
	}}}
	e2e.NoError(t, e2e.Err(reconciler.Render(t.Context(), run, in, reconciler.Version{})))
}
