package gotemplating_test

import (
	"math"
	"runtime"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// withXR returns a request whose XR has the field spec.
func withXR(spec *structpb.Value) *fnv1.RunFunctionRequest {
	return &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "t"},
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{
				Resource:          &structpb.Struct{Fields: map[string]*structpb.Value{"spec": spec}},
				ConnectionDetails: map[string][]byte{"a": []byte("b")},
			},
			Resources: map[string]*fnv1.Resource{"r": {Ready: fnv1.Ready_READY_TRUE}},
		},
	}
}

func TestTemplateData(t *testing.T) {
	numbers := []any{}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 255, 1.5, 1e-7, 1 << 53, 1<<53 + 2, 1 << 62, -1 << 63, 1 << 63, 1e20, 1e21, -1e300, math.MaxFloat64} {
		numbers = append(numbers, f)
	}
	for name, v := range map[string]any{
		"Scalars": []any{nil, true, false, "", "a", "1", "<&>\u2028"},
		"Numbers": numbers,
		"Nested":  map[string]any{"a": map[string]any{}, "b": []any{}, "c": []any{[]any{map[string]any{"d": 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := e2e.Must(structpb.NewValue(v))(t)
			req := withXR(spec)
			raw := e2e.Must(protojson.Marshal(req))(t)
			var want map[string]any
			e2e.NoError(t, kjson.Unmarshal(raw, &want))
			got := e2e.Must(gotemplating.TemplateData(req))(t)
			e2e.Equal(t, "the data differ from the JSON form of the request", want, got)
			if req.GetObserved().GetComposite().GetResource() == nil {
				t.Error("the request was changed")
			}
		})
	}
}

func TestTemplateDataRefuses(t *testing.T) {
	for name, v := range map[string]*structpb.Value{
		"NaN":      structpb.NewNumberValue(math.NaN()),
		"Infinity": structpb.NewNumberValue(math.Inf(-1)),
		"Text":     structpb.NewStringValue("\xff"),
		"Kind":     {},
	} {
		if got, err := gotemplating.TemplateData(withXR(v)); err == nil {
			t.Errorf("%s: a value without a JSON form became %v", name, got)
		}
	}
}

// TestTemplateDataMemory shows that a long list is not encoded as JSON: the data need little more
// than the 16 bytes of each element.
func TestTemplateDataMemory(t *testing.T) {
	const n = 100_000
	list := &structpb.ListValue{Values: make([]*structpb.Value, n)}
	for i := range list.Values {
		list.Values[i] = structpb.NewNumberValue(float64(i % 10))
	}
	req := withXR(structpb.NewListValue(list))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e2e.NoError(t, e2e.Err(gotemplating.TemplateData(req)))
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 30 {
		t.Errorf("each element needs %d bytes", each)
	}
}
