package alpha_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestReconcileAgain reconciles an XR three times. The function quote annotates a resource,
// and the function user adds a resource. The second reconcile patches the objects that the
// first one created. The third deletes a resource that is no longer desired.
func TestReconcileAgain(t *testing.T) {
	const database = `
resources:
- name: database
  base: {apiVersion: db.gold.test/v1, kind: Database, spec: {engine: postgres}}
  patches:
  - {fromFieldPath: spec.storageGB, toFieldPath: spec.allocatedStorage}
  - {type: ToCompositeFieldPath, fromFieldPath: status.address, toFieldPath: status.address}
  connectionDetails:
  - {type: FromFieldPath, name: address, fromFieldPath: status.address}
functions:
- {name: quote, type: Container, container: {image: quote, network: {policy: Runner}}}
`
	const user = `- {name: user, type: Container, container: {image: user}}
`
	run := world{functions: map[string]func(*fnio.FunctionIO){
		"quote": func(io *fnio.FunctionIO) {
			u := &unstructured.Unstructured{}
			e2e.NoError(t, u.UnmarshalJSON(io.Desired.Resources[0].Resource.Raw))
			annotations := u.GetAnnotations()
			annotations["quote"] = "to be"
			u.SetAnnotations(annotations)
			raw := e2e.Must(u.MarshalJSON())(t)
			io.Desired.Resources[0].Resource.Raw = raw
			io.Results = append(io.Results, fnio.Result{Severity: fnio.Normal, Message: "quoted"})
		},
		"user": desires(`{name: user, resource: {apiVersion: db.gold.test/v1, kind: User, metadata: {name: x-user}}, readinessChecks: [{type: None}]}`),
	}}
	given := &unstructured.Unstructured{Object: e2e.Object(t, `{apiVersion: db.gold.test/v1, kind: XDatabase, metadata: {name: x}, spec: {storageGB: 20}}`)}
	xr, store := alpha.Cluster(given, nil, nil)
	reconcile := func(spec string) *alpha.Result {
		t.Helper()
		for _, o := range store.Objects() {
			if o.GetKind() == "XDatabase" {
				xr = o
			}
		}
		result, err := alpha.Run(t.Context(), alpha.Request{
			XR:          xr,
			Composition: decoded(t, map[string]any{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "spec": e2e.Object(t, spec)}),
		}, run.runner(t, &reconciled{}), store)
		e2e.NoError(t, err)
		return result
	}
	first := reconcile(database + user)
	e2e.Equal(t, "the resource of the template is not ready, and the one of the function is", []bool{false, true}, []bool{first.Composed[0].Ready, first.Composed[1].Ready})
	second := reconcile(database + user)
	e2e.Equal(t, "the output of an unchanged reconcile stays the same", first.Output(nil), second.Output(nil))
	reconcile(database)
	want := []string{
		"dry-run create Database x-00001", "patch application/merge-patch+json XDatabase x", "create Database x-00001", "create User x-user",
		"patch application/merge-patch+json XDatabase x", "patch application/merge-patch+json Database x-00001", "patch application/merge-patch+json User x-user",
		"delete User x-user", "patch application/merge-patch+json XDatabase x", "patch application/merge-patch+json Database x-00001",
	}
	e2e.Equal(t, "each reconcile patches what exists, and the third deletes the user", want, store.Calls())
}
