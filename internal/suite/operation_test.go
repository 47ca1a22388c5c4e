package suite_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/suite"
)

// TestOperations runs cases with Operations.
func TestOperations(t *testing.T) {
	t.Parallel()
	const operation = `defaults:
  operation:
    apiVersion: ops.crossplane.io/v1alpha1
    kind: Operation
    metadata: {name: once}
    spec:
      mode: Pipeline
      pipeline:
      - step: one
        functionRef: {name: function-literal}
        input:
          apiVersion: example.org/v1
          kind: Input
          response:
            desired:
              resources:
                first: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}, data: {k: "1"}}}
                second: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: ns}}}
            results: [{severity: SEVERITY_NORMAL, message: done}]
            output: {changed: 2}
`
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Pass": {"an Operation, its status and what it applies can be expected", operation + `cases:
- name: a
  expect:
    operation: {"status.pipeline[0].output.changed": 2, spec.mode: Pipeline}
    conditions: {Succeeded: {status: True, reason: PipelineSuccess}}
    resources: {first: {"data.k": "1"}, ConfigMap/b: present}
    only: [first, second]
    count: {ConfigMap: 2}
    results: {message: done}
    objects:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}
    - {apiVersion: render.crossplane.io/v1beta1, kind: Result, message: 'Pipeline step "one": done'}
    - {apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, status: {appliedResourceRefs: [{name: a}, {name: b}]}}
    cel: ['operation.metadata.name == "once"', 'resources.first.data.k == "1"']
    valid: true
`, []string{"s.yaml/a passed"}},
		"Fail": {"failures name the step that set a field", operation + `cases:
- name: a
  expect:
    operation: {status.failures: 1}
    resources: {first: {"data.k": "2"}, third: present}
    only: first
    objects: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: 1}}
`, []string{
			"s.yaml/a failed",
			"  26: Operation: status.failures: there is no such field: status has appliedResourceRefs, conditions, pipeline",
			`  27: first: data.k: want "2", got "1" (set by step one)`,
			`  27: there is no resource "third", only first, second`,
			"  28: second: this resource (ConfigMap/b) is unexpected (set by step one)",
			`  29: ConfigMap/a: data.k: want 1, got "1" (set by step one)`,
		}},
		"Watched": {"a WatchOperation requires the watched resource", `cases:
- name: a
  operation:
    apiVersion: ops.crossplane.io/v1alpha1
    kind: WatchOperation
    metadata: {name: w}
    spec: {watch: {apiVersion: v1, kind: Secret}, operationTemplate: {spec: {mode: Pipeline, pipeline: [{step: one, functionRef: {name: function-literal}, input: {sequence: [{results: [{severity: SEVERITY_FATAL, message: nothing}]}, {output: {ok: true}}]}}]}}}
  watched: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}}
  expect:
    operation: {"status.pipeline[0].output.ok": true}
- name: b
  operation: {apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, metadata: {name: w}, spec: {pipeline: [{step: one, functionRef: {name: function-literal}, input: {response: {results: [{severity: SEVERITY_FATAL, message: nothing}]}}}]}}
  expect: {fatal: nothing}
- name: mocked
  operation: {apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, metadata: {name: w}, spec: {pipeline: [{step: one, functionRef: {name: nobody}}]}}
  mocks: {one: {response: {output: {num: 1}}}}
  expect: {operation: {"status.pipeline[0].output.num": 1}}
`, []string{"s.yaml/a passed", "s.yaml/b passed", "s.yaml/mocked passed"}},
		"Fields": {"fields of composite resources are errors", operation + `  composition: c.yaml
cases:
- name: a
  xr: xr.yaml
  expect: {ready: true, xr: {spec.a: 1}}
- name: b
  operation: null
  watched: w.yaml
  xr: {apiVersion: v1, kind: XR}
  composition: {apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: c}}
  expect: {operation: {a: 1}}
`, []string{
			"s.yaml/a failed",
			"  23: composition: this is only for cases with a composite resource, not with an operation | remove the field or, if it comes from the defaults, set it to null in the case",
			"  26: xr: this is only for cases with a composite resource, not with an operation | remove the field or, if it comes from the defaults, set it to null in the case",
			"  27: expect.xr: this is only for cases with a composite resource, not with an operation | remove the field or, if it comes from the defaults, set it to null in the case",
			"  27: expect.ready: this is only for cases with a composite resource, not with an operation | remove the field or, if it comes from the defaults, set it to null in the case",
			"s.yaml/b failed",
			"  30: watched: this is only for cases with an operation | remove the field or, if it comes from the defaults, set it to null in the case",
			"  33: expect.operation: this is only for cases with an operation | remove the field or, if it comes from the defaults, set it to null in the case",
		}},
		"Kind": {"another kind is an error with the line of the object", "cases:\n- name: a\n  operation: {apiVersion: v1, kind: Secret}\n", []string{"s.yaml/a failed", "  4: loading the Operation: s.yaml:5: not an operation type: Secret/v1: expected an Operation, CronOperation or WatchOperation"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(example(t, map[string]string{"s.yaml": head + tc.text}))
			o.Config.Runners = function.Mux{"function-literal": functiontest.Literal()}
			e2e.Equal(t, tc.reason, strings.Join(tc.want, "\n"), strings.Join(lines(run(t, o, suite.Selection{})), "\n"))
		})
	}
}
