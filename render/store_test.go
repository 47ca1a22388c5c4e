package render_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/render"
)

// TestStore: an XR's resourceRefs and generated names are looked up among the
// required resources.
func TestStore(t *testing.T) {
	const rsp = `{"desired": {"resources": {"one": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"}}}}}`
	const (
		generated = "alpha-061746a7bcdd"
		annotated = "annotations: {crossplane.io/composition-resource-name: one}"
		owned     = "ownerReferences: [{apiVersion: v1, kind: Other, name: o, uid: u, controller: true}]"
	)
	cases := map[string]struct{ reason, refs, required, want, err string }{
		"Observed":   {"the XR refers to a required resource", "old", "name: old, " + annotated, "old", ""},
		"Missing":    {"a resource that is nowhere is not observed", "old", "name: other, " + annotated, generated, ""},
		"Controlled": {"a resource that another object controls is not observed", "old", "name: old, " + owned, generated, ""},
		"Anonymous":  {"an observed resource must have a name in the pipeline", "old", "name: old", "", "lacks the annotation"},
		"Taken":      {"a generated name that exists is generated again", "old", "name: " + generated, "alpha-9671b8d96994", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {crossplane: {resourceRefs: [{apiVersion: parts.gold.test/v1, kind: Bolt, name: `+tc.refs+`}]}}}`)
			req.Required = []*unstructured.Unstructured{object(t, `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {`+tc.required+`}}`)}
			got, err := render.Render(t.Context(), answer(response(t, rsp)), req)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if u := (unstructured.Unstructured{Object: got.Composed[0]}); u.GetName() != tc.want {
				t.Errorf("%s: got name %q, want %q", tc.reason, u.GetName(), tc.want)
			}
		})
	}
}
