package render_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/render"
)

// TestRenderOperation checks the status of an Operation, the resources that it applies, and
// when no function is called.
func TestRenderOperation(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: once, generation: 3}\nspec: {retryLimit: 2, pipeline: [{step: a, functionRef: {name: f}}]}\n"
	const done = `{"conditions":[{"lastTransitionTime":"2024-01-01T00:00:00Z","observedGeneration":3,"reason":"PipelineSuccess","status":"True","type":"Succeeded"},{"lastTransitionTime":"2024-01-01T00:00:00Z","observedGeneration":3,"reason":"ValidPipeline","status":"True","type":"ValidPipeline"},{"lastTransitionTime":"2024-01-01T00:00:00Z","observedGeneration":3,"reason":"ReconcileSuccess","status":"True","type":"Synced"}]`
	cases := map[string]struct{ reason, operation, response, status, applied, warnings, err string }{
		"Nothing":  {reason: "a pipeline may apply nothing", operation: head, response: "{}", status: done + "}"},
		"Complete": {reason: "a complete Operation is not run", operation: head + "status: {conditions: [{type: Succeeded, status: 'False', reason: X}]}", status: `{"conditions":[{"lastTransitionTime":"2024-01-01T00:00:00Z","reason":"X","status":"False","type":"Succeeded"}]}`},
		"Limit":    {reason: "an Operation is not run after retryLimit failures", operation: head + "status: {failures: 2}", status: `{"conditions":[{"lastTransitionTime":"2024-01-01T00:00:00Z","observedGeneration":3,"reason":"ReconcileSuccess","status":"True","type":"Synced"},{"lastTransitionTime":"2024-01-01T00:00:00Z","message":"failure limit of 2 reached","observedGeneration":3,"reason":"PipelineError","status":"False","type":"Succeeded"}],"failures":2}`},
		"Deleted":  {reason: "a deleted Operation is not run", operation: "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: once, deletionTimestamp: '2025-01-01T00:00:00Z'}\n", status: "null"},
		"Status": {
			reason: "references and outputs are added to the references and outputs in the status", operation: head + "status: {failures: 1, pipeline: [{step: a, output: {old: 1}}, {step: z}], appliedResourceRefs: [{apiVersion: v1, kind: Secret, name: s}, {apiVersion: v1, kind: ConfigMap, name: c, namespace: d}]}",
			response: `{"output": {"n": 1}, "desired": {"resources": {"x": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}}}}}}`,
			status:   `{"appliedResourceRefs":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","namespace":"d"},{"apiVersion":"v1","kind":"Secret","name":"s"}],` + done[1:] + `,"failures":1,"pipeline":[{"output":{"n":1},"step":"a"},{"step":"z"}]}`,
			applied:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d"}}`,
		},
		"Twice": {
			reason: "one reference names an object that two resources desire", operation: head,
			response: `{"desired": {"composite": {"resource": {"spec": {"a": 1}}}, "resources": {"x": {"resource": {"apiVersion": "v1", "kind": "Pod"}}, "y": {"resource": {"apiVersion": "v1", "kind": "Pod", "spec": {}}}}}}`,
			status:   `{"appliedResourceRefs":[{"apiVersion":"v1","kind":"Pod","name":""}],` + done[1:] + "}",
			applied:  `{"apiVersion":"v1","kind":"Pod"}{"apiVersion":"v1","kind":"Pod","spec":{}}`,
			warnings: `pipeline step "a" desires a composite resource, but an Operation has none; resource "x" has no name, so an API server refuses it; resources "x" and "y" are the same object, and Crossplane applies them in a random order; resource "y" has no name, so an API server refuses it; `,
		},
		"NoKind": {reason: "a resource without a kind cannot be applied", operation: head, response: `{"desired": {"resources": {"x": {"resource": {"metadata": {"name": "c"}}}}}}`, err: `applying resource "x": the resource has no kind`},
		"Fatal":  {reason: "a fatal result is an error", operation: head, response: `{"results": [{"severity": "SEVERITY_FATAL", "message": "no way"}]}`, err: `pipeline step "a" returned a fatal result: no way`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := &opsv1alpha1.Operation{}
			e2e.NoError(t, yaml.Unmarshal([]byte(tc.operation), op))
			run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				if req.GetObserved() != nil {
					t.Error("an Operation has no observed state")
				}
				rsp := &fnv1.RunFunctionResponse{}
				return rsp, protojson.Unmarshal([]byte(tc.response), rsp)
			})
			r, err := render.RenderOperation(t.Context(), run, render.OperationRequest{Operation: op})
			if tc.err != "" || err != nil {
				e2e.Equal(t, tc.reason, tc.err, fmt.Sprint(err))
				return
			}
			applied, warnings := "", ""
			for _, obj := range r.Composed {
				applied += encoded(t, obj)
			}
			for _, w := range r.Warnings {
				warnings += w + "; "
			}
			e2e.Equal(t, tc.reason, []string{tc.status, tc.applied, tc.warnings}, []string{encoded(t, r.XR["status"]), applied, warnings})
		})
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b := e2e.Must(json.Marshal(v))(t)
	return string(b)
}
