package render_test

import (
	"context"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/render"
)

// TestClassicStatus checks the status of the XR, with the answers of crossplane render v2.2.0 and v1.20.0.
func TestClassicStatus(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, desired string
		want            any
	}{
		"Null": {"a status that is null gets no conditions", `{"status": null}`, nil},
		"Text": {"a status that is a text gets no conditions", `{"status": "x"}`, "x"},
		"List": {"a status that is a list gets no conditions", `{"status": []}`, []any{}},
	}
	for name, tc := range cases {
		for _, profile := range []render.Profile{render.Classic, render.V1_20} {
			t.Run(name+"/"+string(profile), func(t *testing.T) {
				rsp := response(t, `{"desired": {"composite": {"resource": `+tc.desired+`}}, "conditions": [{"type": "A", "status": "STATUS_CONDITION_TRUE"}]}`)
				r := e2e.Must(render.Render(t.Context(), answer(rsp), request(t, profile, xr)))(t)
				got, found := r.XR["status"]
				e2e.Equal(t, tc.reason+": the field exists", true, found)
				e2e.Equal(t, tc.reason, plain(t, tc.want), plain(t, got))
			})
		}
	}
}

// TestClaimRef checks the claim labels of composed resources, with the answers of crossplane render v1.20.0.
func TestClaimRef(t *testing.T) {
	t.Parallel()
	const name, namespace = "crossplane.io/claim-name", "crossplane.io/claim-namespace"
	cases := map[string]struct {
		reason, ref string
		want        map[string]string
	}{
		"Both":        {"both labels are set", `{name: c, namespace: "n"}`, map[string]string{name: "c", namespace: "n"}},
		"NoNamespace": {"a label without a value is empty", `{name: c}`, map[string]string{name: "c", namespace: ""}},
		"Null":        {"a null is a reference without fields", `null`, map[string]string{name: "", namespace: ""}},
		"OtherField":  {"an unknown field may have any type", `{name: c, namespace: "n", other: [1]}`, map[string]string{name: "c", namespace: "n"}},
		"Number":      {"a reference whose name is not a text is ignored", `{name: 5, namespace: "n"}`, map[string]string{}},
		"OtherNumber": {"a reference whose apiVersion is not a text is ignored", `{apiVersion: 3, name: c, namespace: "n"}`, map[string]string{}},
		"Text":        {"a reference that is not an object is ignored", `x`, map[string]string{}},
	}
	for testName, tc := range cases {
		t.Run(testName, func(t *testing.T) {
			req := request(t, render.V1_20, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {claimRef: `+tc.ref+`}}`)
			rsp := response(t, `{"desired": {"resources": {"one": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"}}}}}`)
			r := e2e.Must(render.Render(t.Context(), answer(rsp), req))(t)
			tc.want["crossplane.io/composite"] = "alpha"
			e2e.Equal(t, tc.reason, tc.want, (&unstructured.Unstructured{Object: r.Composed[0]}).GetLabels())
		})
	}
}

// TestSelectorWithoutMatch checks what a function gets that requires a kind without a name and labels.
// Crossplane's reconciler and crossplane render v2.2.1 list the kind. crossplane render v1.20.0 finds nothing.
func TestSelectorWithoutMatch(t *testing.T) {
	t.Parallel()
	const bolt = `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {name: b, labels: {a: b}}}`
	cases := map[string]struct {
		reason, match string
		profile       render.Profile
		want          int
	}{
		"V2":            {"profile v2 lists the kind", ``, render.V2, 1},
		"Classic":       {"profile classic lists the kind", ``, render.Classic, 1},
		"V1.20":         {"profile v1.20 finds nothing without a name and labels", ``, render.V1_20, 0},
		"ClassicLabels": {"empty labels in profile classic select the whole kind", `, "matchLabels": {}`, render.Classic, 1},
		"V1.20Labels":   {"empty labels in profile v1.20 select the whole kind", `, "matchLabels": {}`, render.V1_20, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last *fnv1.RunFunctionRequest
			run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				last = req
				return response(t, `{"requirements": {"extraResources": {"a": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"`+tc.match+`}}}}`), nil
			})
			req := request(t, tc.profile, xr)
			req.Extra = []*unstructured.Unstructured{object(t, bolt)}
			e2e.NoError(t, e2e.Err(render.Render(t.Context(), run, req)))
			extra, _, _ := unstructured.NestedSlice(e2e.Object(t, protojson.Format(last)), "extraResources", "a", "items")
			e2e.Equal(t, tc.reason, tc.want, len(extra))
		})
	}
}

// TestClassicEmptyContext checks the empty context, with the answers of crossplane render v2.2.0: a response
// without values has no fields, but without steps there is no response.
func TestClassicEmptyContext(t *testing.T) {
	t.Parallel()
	req := request(t, render.Classic, xr)
	r := e2e.Must(render.Render(t.Context(), answer(response(t, `{"context": {}}`)), req))(t)
	e2e.Equal(t, "an empty context of a response", any(map[string]any(nil)), r.Context["fields"])
	req.Composition = pipeline()
	r = e2e.Must(render.Render(t.Context(), nil, req))(t)
	e2e.Equal(t, "the context of a pipeline without steps", any(map[string]any{}), r.Context["fields"])
}
