package reconciler_test

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

// TestSatisfyAdvice: if a function fails, the hint lists the required resources that do not exist.
func TestSatisfyAdvice(t *testing.T) {
	const (
		gull  = `{"apiVersion": "v1", "kind": "Boat", "matchName": "gull"}`
		tern  = `{"apiVersion": "v1", "kind": "Boat", "matchName": "tern", "namespace": "bay"}`
		fleet = `{"apiVersion": "v1", "kind": "Boat", "matchLabels": {"labels": {"b": "2", "a": "1"}}}`
		crew  = `{"apiVersion": "v1", "kind": "Crew", "matchLabels": {"labels": {"a": "1"}}}`
		piers = `{"apiVersion": "v1", "kind": "Pier"}`
		cog   = `{"apiVersion": "v1", "kind": "Boat", "matchName": "cog"}`
		start = "name the files of the missing resources with {required-resources} PATH: "
	)
	cases := map[string]struct {
		reason, asks     string
		fatal, onlyExtra bool
		want             string
	}{
		"Name":      {"a resource is named", `{"resources": {"a": ` + gull + `}}`, true, false, start + `Boat "gull" (v1)`},
		"Namespace": {"the namespace is named", `{"resources": {"a": ` + tern + `}}`, true, false, start + `Boat "tern" in namespace "bay" (v1)`},
		"Labels":    {"labels are sorted, and a resource of the kind with others is named", `{"resources": {"a": ` + fleet + `}}`, true, false, `correct the labels or the selector: Boat with the labels a=1,b=2 (v1) is required, but the resources of the kind are Boat "cog" with the labels a=2`},
		"Kind":      {"all resources of a kind may be required", `{"resources": {"a": ` + piers + `}}`, true, false, start + "Pier (v1)"},
		"Both":      {"a resource in both fields is named once", `{"resources": {"a": ` + gull + `}, "extraResources": {"a": ` + gull + `}}`, true, false, start + `Boat "gull" (v1)`},
		"Many":      {"at most three resources are named", `{"resources": {"a": ` + gull + `, "b": ` + tern + `, "c": ` + crew + `, "d": ` + piers + `}}`, true, false, start + `Boat "gull" (v1), Boat "tern" in namespace "bay" (v1), Crew with the labels a=1 (v1), 1 more`},
		"Found":     {"a resource that exists is not missing", `{"resources": {"a": ` + cog + `}}`, true, false, ""},
		"NotFatal":  {"a missing resource alone is not a failure", `{"resources": {"a": ` + gull + `}}`, false, false, ""},
		"Ignored":   {"a resource in a field that Crossplane ignores is not missing", `{"resources": {"a": ` + gull + `}}`, true, true, ""},
		"Nothing":   {"a failure without requirements has no hint", `{}`, true, false, ""},
	}
	store := reconciler.Store{&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Boat", "metadata": map[string]any{"name": "cog", "labels": map[string]any{"a": "2"}}}}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			calls := 0
			r := reconciler.Requirements{Dynamic: store.Exact, OnlyExtra: tc.onlyExtra}
			_, advice, err := r.Satisfy(&fnv1.RunFunctionRequest{}, func(*fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				rsp, results := &fnv1.RunFunctionResponse{}, ""
				if calls++; calls > 1 && tc.fatal {
					results = `, "results": [{"severity": "SEVERITY_FATAL"}]`
				}
				return rsp, protojson.Unmarshal([]byte(`{"requirements": `+tc.asks+results+`}`), rsp)
			})
			e2e.Equal(t, tc.reason+": the function was called", 2, calls)
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, string(advice))
		})
	}
}

// A function that requires a resource only until the request has it never settles.
func TestSatisfyNeverSettles(t *testing.T) {
	_, _, err := reconciler.Requirements{Dynamic: reconciler.Store{}.Exact}.Satisfy(&fnv1.RunFunctionRequest{}, func(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		if len(req.GetRequiredResources()) > 0 {
			return &fnv1.RunFunctionResponse{}, nil
		}
		s := &fnv1.ResourceSelector{ApiVersion: "v1", Kind: "Boat"}
		return &fnv1.RunFunctionResponse{Requirements: &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{"a": s}}}, nil
	})
	e2e.ErrorHas(t, "requirements that alternate are an error", err, "the function's requirements still change after 5 more calls")
	e2e.Equal(t, "the hint says what the function must return", "a function must return the same requirements in each response, also when the request has the resources", string(hint.Of(err)))
}
