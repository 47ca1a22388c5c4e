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
			status:   `{"appliedResourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"s"},{"apiVersion":"v1","kind":"ConfigMap","name":"c","namespace":"d"}],` + done[1:] + `,"failures":1,"pipeline":[{"output":{"n":1},"step":"a"},{"step":"z"}]}`,
			applied:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d"}}`,
		},
		"Added": {
			reason: "a new reference sorts all references, and an empty namespace equals none", operation: head + "status: {appliedResourceRefs: [{apiVersion: v1, kind: Secret, name: s, namespace: ''}, {apiVersion: v1, kind: Pod, name: p}]}",
			response: `{"desired": {"resources": {"x": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}}, "y": {"resource": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}}}}}`,
			status:   `{"appliedResourceRefs":[{"apiVersion":"v1","kind":"ConfigMap","name":"c"},{"apiVersion":"v1","kind":"Pod","name":"p"},{"apiVersion":"v1","kind":"Secret","name":"s","namespace":""}],` + done[1:] + "}",
			applied:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`,
		},
		"Numbers": {
			reason: "the numbers of earlier outputs are rounded, and of new ones", operation: head + "status: {pipeline: [{step: z, output: {count: 9007199254740993}}]}",
			response: `{"output": {"n": 9007199254740993}}`,
			status:   done + `,"pipeline":[{"output":{"count":9007199254740992},"step":"z"},{"output":{"n":9007199254740992},"step":"a"}]}`,
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

// TestRenderOperationRequired: while its functions run, an Operation has the condition Succeeded
// of status Unknown, and its numbers are rounded. A schema needs a valid apiVersion.
func TestRenderOperationRequired(t *testing.T) {
	t.Parallel()
	const operation = "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: once, generation: 3}\nspec: {pipeline: [{step: a, functionRef: {name: f}, input: {count: 9007199254740993}, requirements: {%s}}]}\n"
	const itself = `{"items":[{"resource":{"apiVersion":"ops.crossplane.io/v1alpha1","kind":"Operation","metadata":{"generation":3,"name":"once","resourceVersion":"999"},"spec":{"mode":"","pipeline":[{"functionRef":{"name":"f"},"input":{"count":9007199254740992},"requirements":{"requiredResources":[{"apiVersion":"ops.crossplane.io/v1alpha1","kind":"Operation","requirementName":"me"}]},"step":"a"}]},"status":{"conditions":[{"lastTransitionTime":"2024-01-01T00:00:00Z","observedGeneration":3,"reason":"PipelineRunning","status":"Unknown","type":"Succeeded"}]}}}]}`
	cases := map[string]struct{ reason, requirements, response, want, err string }{
		"Itself":    {reason: "a function may require the Operation", requirements: "requiredResources: [{requirementName: me, apiVersion: ops.crossplane.io/v1alpha1, kind: Operation}]", response: "{}", want: itself},
		"Schema":    {reason: "the Operation requires a schema without a valid apiVersion", requirements: "requiredSchemas: [{requirementName: s, apiVersion: a/b/c, kind: K}]", response: "{}", err: `running pipeline step "a": fetching the required schema "s": the apiVersion "a/b/c" is not of the form group/version`},
		"Responded": {reason: "a function requires a schema without a valid apiVersion", response: `{"requirements": {"schemas": {"s": {"apiVersion": "a/b/c", "kind": "K"}}}}`, err: `running pipeline step "a": fetching the required schema "s": the apiVersion "a/b/c" is not of the form group/version`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, got := &opsv1alpha1.Operation{}, ""
			e2e.NoError(t, yaml.Unmarshal([]byte(fmt.Sprintf(operation, tc.requirements)), op))
			run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				if me := req.GetRequiredResources()["me"]; me != nil {
					text := e2e.Must(protojson.Marshal(me))(t)
					var v any
					e2e.NoError(t, json.Unmarshal(text, &v))
					got = encoded(t, v)
				}
				rsp := &fnv1.RunFunctionResponse{}
				return rsp, protojson.Unmarshal([]byte(tc.response), rsp)
			})
			_, err := render.RenderOperation(t.Context(), run, render.OperationRequest{Operation: op})
			e2e.WantError(t, tc.reason, err, tc.err)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
