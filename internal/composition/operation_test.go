package composition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// TestDecodeOperation checks which documents are Operations, and what a template becomes.
func TestDecodeOperation(t *testing.T) {
	t.Parallel()
	const steps = "pipeline: [{step: a, functionRef: {name: f}}]"
	cases := map[string]struct{ reason, text, want string }{
		"Operation":   {"an Operation keeps its name", "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: once}\nspec: {" + steps + "}", `Operation "once" labels map[] steps 1`},
		"Cron":        {"a CronOperation gives its name, and its template the labels", "apiVersion: ops.crossplane.io/v1alpha1\nkind: CronOperation\nmetadata: {name: nightly, labels: {a: b}}\nspec: {schedule: '@daily', operationTemplate: {metadata: {name: x, labels: {t: u}}, spec: {" + steps + "}}}", `Operation "nightly" labels map[t:u] steps 1`},
		"Watch":       {"a WatchOperation gives its name", "apiVersion: ops.crossplane.io/v1alpha1\nkind: WatchOperation\nmetadata: {name: w}\nspec: {watch: {apiVersion: v1, kind: Secret}, operationTemplate: {spec: {" + steps + "}}}", `Operation "w" labels map[] steps 1`},
		"Metadata":    {"a template gives its finalizers and its prefix of a name", "apiVersion: ops.crossplane.io/v1alpha1\nkind: CronOperation\nmetadata: {name: nightly}\nspec: {schedule: '@daily', operationTemplate: {metadata: {generateName: g, finalizers: [f]}, spec: {" + steps + "}}}", `Operation "nightly" labels map[] steps 1 prefix "g" finalizers [f]`},
		"OtherKind":   {"another kind is an error with its line", "apiVersion: v1\nkind: Secret", "op.yaml:2: not an operation type: Secret/v1: expected an Operation, CronOperation or WatchOperation"},
		"OtherGroup":  {"a kind of another group is an error", "apiVersion: example.org/v1\nkind: Operation", "op.yaml:2: not an operation type: Operation/example.org/v1: expected an Operation, CronOperation or WatchOperation"},
		"OtherFormat": {"another version is an error with its line", "apiVersion: ops.crossplane.io/v2\nkind: Operation", "op.yaml:1: expected the apiVersion ops.crossplane.io/v1alpha1 of kind Operation, got ops.crossplane.io/v2"},
		"NoObject":    {"a list is an error", "[]", "op.yaml:1: expected an object, got a list"},
		"WrongType":   {"a field of another type is an error", "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nspec: {pipeline: 3}", "op.yaml:3: spec.pipeline must be a list, not the number 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, e, err := composition.DecodeOperation(manifest.Document{Path: "op.yaml", Line: 1, Text: []byte(tc.text)})
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprintf("%s %q labels %v steps %d", op.Kind, op.Name, op.Labels, len(e.Spec.Pipeline))
				if op.GenerateName != "" {
					got += fmt.Sprintf(" prefix %q finalizers %v", op.GenerateName, op.Finalizers)
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestCheckOperation checks that problems of an Operation have the paths and lines of the
// document, also below a template.
func TestCheckOperation(t *testing.T) {
	t.Parallel()
	const cron = `apiVersion: ops.crossplane.io/v1alpha1
kind: CronOperation
metadata: {name: nightly}
spec:
  schedul: "@daily"
  pipeline: []
  operationTemplate:
    spec:
      mode: Resources
      pipeline:
      - step: a
        functionRef: {name: f}
        inptu: {}
      - step: a
        functionRef: {name: nobody}
`
	_, e, err := composition.DecodeOperation(manifest.Document{Path: "op.yaml", Line: 1, Text: []byte(cron)})
	e2e.NoError(t, err)
	var got []string
	for _, p := range composition.Check(e, func(name string) bool { return name == "f" }) {
		got = append(got, string(p.Kind)+" "+p.Error())
	}
	want := []string{
		"UnknownField op.yaml:5: spec.schedul: unknown field of kind CronOperation: the API server drops it, did you mean schedule?",
		"UnknownField op.yaml:6: spec.pipeline: unknown field of kind CronOperation: the API server drops it",
		`UnknownMode op.yaml:9: spec.operationTemplate.spec.mode: expected mode Pipeline, got "Resources"`,
		"UnknownField op.yaml:13: spec.operationTemplate.spec.pipeline[0].inptu: unknown field of kind CronOperation: the API server drops it, did you mean input?",
		`DuplicateStep op.yaml:14: spec.operationTemplate.spec.pipeline[1].step: the name "a" is also the name of spec.pipeline[0]`,
		`UnknownFunction op.yaml:15: spec.operationTemplate.spec.pipeline[1].functionRef.name: the step "a" calls the function "nobody", which was not found`,
	}
	e2e.Equal(t, "problems have the paths and lines of the Operation", strings.Join(want, "\n"), strings.Join(got, "\n"))
}
