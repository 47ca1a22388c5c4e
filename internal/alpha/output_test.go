package alpha_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func list(t *testing.T, text string) []any {
	t.Helper()
	return e2e.Object(t, "list:\n"+text)["list"].([]any)
}

func TestOutput(t *testing.T) {
	const conditions = `conditions: [
		{type: Synced, status: "True", reason: ReconcileSuccess, lastTransitionTime: "2024-01-01T00:00:00Z"},
		{type: Ready, status: "False", reason: Creating, lastTransitionTime: "2024-01-01T00:00:00Z"}]`
	p := world{
		existing: []string{exists("till", "spec: {drawers: 1}, status: {ref: r}")},
		spec:     "resources:\n" + till + ", patches: [{type: ToCompositeFieldPath, fromFieldPath: status.ref}]}\n" + calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": desires(
			`{name: a, resource: {apiVersion: v1, kind: Box, metadata: {generateName: stall-}}}`)},
	}.run(t).ok(t)
	out := p.Output(nil)
	e2e.Equal(t, "the XR has its identity and the patched status", e2e.Object(t, `{apiVersion: shop.gold.test/v1, kind: XStall, metadata: {name: stall}, status: {ref: r, `+conditions+`}}`), out.XR)
	if got := out.Full["spec"].(map[string]any); len(got["resourceRefs"].([]any)) != 2 || got["slots"] != int64(4) {
		t.Errorf("Full has the spec of the XR in the store: got %v", got)
	}
	e2e.Equal(t, "the full XR has another status", out.XR["status"], out.Full["status"])
	marks := func(name string) string {
		return `annotations: {crossplane.io/composition-resource-name: ` + name + `}, labels: {crossplane.io/composite: stall, crossplane.io/claim-name: claim, crossplane.io/claim-namespace: market}, ownerReferences: [` + owner + `]`
	}
	want := list(t, `
- {apiVersion: v1, kind: Box, metadata: {generateName: stall-, `+marks("a")+`}}
- {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till, generateName: stall-, `+marks("till")+`}, spec: {drawers: 2}}
`)
	got := []any{}
	for _, c := range out.Composed {
		got = append(got, c)
	}
	e2e.Equal(t, "composed resources are sorted by name, as they were applied", want, got)
}

func TestOutputConnectionDetails(t *testing.T) {
	r := world{spec: "resources:\n" + till + "}\n"}.run(t).ok(t)
	r.ConnectionDetails = map[string][]byte{"user": []byte("u"), "password": []byte("p")}
	for _, tc := range []struct {
		reason string
		keys   []string
		want   map[string]any
	}{
		{"without keys, all details are published", nil, map[string]any{"user": "dQ==", "password": "cA=="}},
		{"with keys, only the details with these keys are published", []string{"user", "host"}, map[string]any{"user": "dQ=="}},
	} {
		e2e.Equal(t, tc.reason, tc.want, r.Output(tc.keys).ConnectionDetails["data"])
	}
}

func TestOutputOfEvents(t *testing.T) {
	cases := map[string]struct {
		reason  string
		results []fnio.Result
		want    string
	}{
		"None": {"the reconciler adds an event", nil, `
- {apiVersion: render.crossplane.io/v1beta1, kind: Result, severity: Normal, reason: ComposeResources, message: Successfully composed resources}`},
		"Normal": {"the reconciler's event comes last", []fnio.Result{{Severity: fnio.Normal, Message: "a"}}, `
- {apiVersion: render.crossplane.io/v1beta1, kind: Result, severity: Normal, reason: ComposeResources, message: a}
- {apiVersion: render.crossplane.io/v1beta1, kind: Result, severity: Normal, reason: ComposeResources, message: Successfully composed resources}`},
		"Warning": {"the reconciler's event is left out after a warning", []fnio.Result{{Severity: fnio.Warning, Message: "a"}}, `
- {apiVersion: render.crossplane.io/v1beta1, kind: Result, severity: Warning, reason: ComposeResources, message: a}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := world{
				spec:      calls("f"),
				functions: map[string]func(*fnio.FunctionIO){"f": func(io *fnio.FunctionIO) { io.Results = tc.results }},
			}.run(t).ok(t).Output(nil)
			got := []any{}
			for _, r := range out.Results {
				got = append(got, r)
			}
			e2e.Equal(t, tc.reason, list(t, tc.want), got)
			conditions := out.XR["status"].(map[string]any)["conditions"].([]any)
			if ready := conditions[1].(map[string]any); ready["status"] != "True" || ready["reason"] != "Available" {
				t.Errorf("an XR without resources is ready: got %v", ready)
			}
		})
	}
}

// TestCluster checks renders whose input files lack the UIDs and timestamps that
// a cluster sets. Resources that are no longer desired are still deleted, and
// existing ones are patched.
func TestCluster(t *testing.T) {
	given := &unstructured.Unstructured{Object: e2e.Object(t, `
apiVersion: shop.gold.test/v1
kind: XStall
metadata: {name: stall}
spec: {claimRef: {name: claim, namespace: market}, writeConnectionSecretToRef: {name: s, namespace: xs}}
`)}
	observed := objects(
		e2e.Object(t, `{apiVersion: v1, kind: Box, metadata: {name: kept, uid: uid-kept, annotations: {crossplane.io/composition-resource-name: kept}}}`),
		e2e.Object(t, `{apiVersion: v1, kind: Box, metadata: {name: dropped, annotations: {crossplane.io/composition-resource-name: dropped}}}`),
		e2e.Object(t, `{apiVersion: v1, kind: Box, metadata: {name: foreign, ownerReferences: [{kind: Y, name: y, uid: u, controller: true}]}}`),
	)
	before := given.DeepCopy()
	for _, literal := range []bool{false, true} {
		xr, store := alpha.Cluster(given, observed, objects(e2e.Object(t, secret)))
		p := &reconciled{}
		w := world{functions: map[string]func(*fnio.FunctionIO){"f": desires(`{name: kept, resource: {apiVersion: v1, kind: Box, metadata: {name: kept}}}`)}}
		result, err := alpha.Run(t.Context(), alpha.Request{
			XR: xr, LiteralDeletion: literal,
			Composition: decoded(t, map[string]any{"spec": e2e.Object(t, calls("f"))}),
		}, w.runner(t, p), store)
		e2e.NoError(t, err)
		want := []string{"delete Box dropped", "patch application/merge-patch+json XStall stall", "patch application/merge-patch+json Box kept"}
		e2e.Equal(t, "a resource that is no longer desired is deleted, and the existing one is patched", want, store.Calls())
		e2e.Equal(t, "other objects are not changed", "v", string(result.ConnectionDetails["key"]))
		wantLabels := map[string]string{"crossplane.io/composite": "stall", "crossplane.io/claim-name": "claim", "crossplane.io/claim-namespace": "market"}
		e2e.Equal(t, "the desired resource has the labels of the composite resource and the claim", wantLabels, result.Composed[0].Desired.GetLabels())
		refs := xr.Object["spec"].(map[string]any)["resourceRefs"].([]any)
		if diff := cmp.Diff(map[string]any{"apiVersion": "v1", "kind": "Box", "name": "kept"}, refs[0]); diff != "" || len(refs) != 3 {
			t.Errorf("the XR refers to all observed resources (-want +got):\n%s", diff)
		}
		again, _ := alpha.Cluster(given, nil, nil)
		if xr.GetUID() == "" || again.GetUID() != xr.GetUID() {
			t.Errorf("got UIDs %q and %q", xr.GetUID(), again.GetUID())
		}
	}
	if diff := cmp.Diff(before, given); diff != "" || observed[0].GetCreationTimestamp().Year() > 1 {
		t.Errorf("an argument was changed:\n%s", diff)
	}
}
