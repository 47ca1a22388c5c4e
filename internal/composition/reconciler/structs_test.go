package reconciler_test

import (
	"context"
	"slices"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
)

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
		e2e.Equal(t, "the list differs", want, list.AsSlice())
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
