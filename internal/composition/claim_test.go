package composition_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

func definition(t *testing.T, text string) schema.XRD {
	t.Helper()
	return e2e.Must(schema.NewXRD(object(t, text).Object))(t)
}

const offersWidgets = ", claimNames: {kind: Widget}"

func TestFromClaim(t *testing.T) {
	cases := map[string]struct {
		reason, claim, want string
	}{
		"Whole": {
			"user-defined fields are copied, fields of the claim or the API server are not",
			`
apiVersion: gold.test/v1
kind: Widget
metadata:
  name: shop
  namespace: retail
  uid: u-1
  finalizers: [finalizer.apiextensions.crossplane.io]
  labels: {team: red, app.kubernetes.io/name: shop}
  annotations: {note: hi, kubectl.kubernetes.io/last-applied-configuration: "{}", x.k8s.io/y: z}
spec:
  size: 3
  compositionRef: {name: a}
  compositionSelector: {matchLabels: {b: c}}
  compositionRevisionSelector: {matchLabels: {d: e}}
  compositionRevisionRef: {name: a-1}
  compositionUpdatePolicy: Automatic
  compositeDeletePolicy: Foreground
  writeConnectionSecretToRef: {name: secret}
  publishConnectionDetailsTo: {name: secret}
status: {ready: true}
`, `
apiVersion: gold.test/v1
kind: XWidget
metadata:
  name: shop-fcm9r
  generateName: shop-
  labels: {team: red, crossplane.io/claim-name: shop, crossplane.io/claim-namespace: retail}
  annotations: {note: hi}
spec:
  size: 3
  compositionRef: {name: a}
  compositionSelector: {matchLabels: {b: c}}
  compositionRevisionSelector: {matchLabels: {d: e}}
  compositionUpdatePolicy: Automatic
  claimRef: {apiVersion: gold.test/v1, kind: Widget, namespace: retail, name: shop}
`,
		},
		"NoNamespace": {
			"the default namespace of a claim is default",
			`{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop}, spec: {}}`,
			`
apiVersion: gold.test/v1
kind: XWidget
metadata:
  name: shop-nqrr7
  generateName: shop-
  labels: {crossplane.io/claim-name: shop, crossplane.io/claim-namespace: default}
spec:
  claimRef: {apiVersion: gold.test/v1, kind: Widget, namespace: default, name: shop}
`,
		},
		"Bound": {
			"an XR that exists keeps its name, and a manual revision is copied",
			`
apiVersion: gold.test/v1
kind: Widget
metadata: {name: shop, namespace: retail}
spec:
  compositionUpdatePolicy: Manual
  compositionRevisionRef: {name: a-1}
  resourceRef: {apiVersion: gold.test/v1, kind: XWidget, name: shop-p9wrj}
  claimRef: {name: pretender}
`, `
apiVersion: gold.test/v1
kind: XWidget
metadata:
  name: shop-p9wrj
  labels: {crossplane.io/claim-name: shop, crossplane.io/claim-namespace: retail}
spec:
  compositionUpdatePolicy: Manual
  compositionRevisionRef: {name: a-1}
  claimRef: {apiVersion: gold.test/v1, kind: Widget, namespace: retail, name: shop}
`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := object(t, tc.claim)
			before := claim.DeepCopy()
			got := e2e.Must(composition.FromClaim(claim, definition(t, xrdFor("v1", "XWidget", offersWidgets))))(t)
			e2e.Equal(t, tc.reason, object(t, tc.want), got)
			got.Object["spec"].(map[string]any)["compositionSelector"] = "changed"
			e2e.Equal(t, "the conversion does not change the claim", before, claim)
		})
	}
}

func TestFromClaimNames(t *testing.T) {
	xrd := definition(t, xrdFor("v1", "XWidget", offersWidgets))
	nameOf := func(name, namespace string) string {
		claim := object(t, "{apiVersion: gold.test/v1, kind: Widget, spec: {}}")
		claim.SetName(name)
		claim.SetNamespace(namespace)
		xr := e2e.Must(composition.FromClaim(claim, xrd))(t)
		return xr.GetName()
	}
	seen := map[string]bool{}
	cases := map[string]struct{ reason, name, namespace string }{
		"Short":     {"a short name is not cut", "shop", "retail"},
		"Namespace": {"an equal name in another namespace gets another suffix", "shop", "wholesale"},
		"Dots":      {"a name may have dots", "a.b.c", "retail"},
		"Longest":   {"the longest name that fits is not cut", strings.Repeat("a", 57), "retail"},
		"Longer":    {"a longer name is cut, as by the API server", strings.Repeat("a", 58), "retail"},
		"Far":       {"the longest possible name is cut", strings.Repeat("b", 253), "retail"},
		"CutAtDot":  {"a name that is cut at a dot is valid", strings.Repeat("c", 57) + ".example", "retail"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := nameOf(tc.name, tc.namespace)
			if prefix := (tc.name + "-")[:min(len(tc.name)+1, 58)]; len(got) != len(prefix)+5 || !strings.HasPrefix(got, prefix) {
				t.Errorf("%s: got %q", tc.reason, got)
			}
			if faults := validation.IsDNS1123Subdomain(got); len(got) > 63 || len(faults) > 0 {
				t.Errorf("%s: %q is not a valid name: %v", tc.reason, got, faults)
			}
			e2e.Equal(t, "a claim gives the same name in each run", got, nameOf(tc.name, tc.namespace))
			if seen[got] {
				t.Errorf("%s: another has the name %q", tc.reason, got)
			}
			seen[got] = true
		})
	}
}

func TestFromClaimRefuses(t *testing.T) {
	const widget = "{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop}, spec: {}}"
	v1 := xrdFor("v1", "XWidget", offersWidgets)
	cases := map[string]struct{ reason, claim, xrd, want string }{
		"OtherKind": {"a claim requires an XRD that offers it", "{apiVersion: gold.test/v1, kind: Gadget, metadata: {name: shop}, spec: {}}", v1, `creating a composite resource of claim Gadget "shop": the XRD of XWidget does not offer claims of this kind`},
		"NoClaims":  {"an XRD may offer no claims", widget, xrdFor("v1", "XWidget", ""), "does not offer claims of this kind"},
		"NotLegacy": {"the API server rejects claims of other scopes", widget, xrdFor("v2", "XWidget", offersWidgets), "only an XRD of scope LegacyCluster"},
		"NoName":    {"a claim requires a name", "{apiVersion: gold.test/v1, kind: Widget, spec: {}}", v1, "the claim has no name"},
		"NoSpec":    {"a claim requires a spec", "{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop}}", v1, "the claim's spec is not an object"},
		"ListSpec":  {"the spec of a claim must be an object", "{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop}, spec: []}", v1, "the claim's spec is not an object"},
		"BadName":   {"an invalid name of the claim gives the XR an invalid name", "{apiVersion: gold.test/v1, kind: Widget, metadata: {name: Shop_1}, spec: {}}", v1, "not a valid RFC 1123 subdomain"},
		"BadRef":    {"an invalid name in the reference gives the XR an invalid name", "{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop}, spec: {resourceRef: {name: A}}}", v1, `the name "A" that`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(composition.FromClaim(object(t, tc.claim), definition(t, tc.xrd))), tc.want)
		})
	}
}
