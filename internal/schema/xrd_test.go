package schema_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

const xrd = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xwidgets.gold.test}
spec:
  group: gold.test
  names: {kind: XWidget}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              color: {default: grey}
              maybe: {default: x, nullable: true}
              box:
                default: {}
                properties:
                  lid: {default: true}
              crate:
                properties:
                  lid: {default: true}
              parts:
                items:
                  default: {size: 9}
                  properties:
                    size: {default: 1}
              tags:
                additionalProperties:
                  default: none
                  properties:
                    level: {default: low}
`

func TestDefault(t *testing.T) {
	cases := map[string]struct {
		reason, spec, want string
	}{
		"Absent":       {"a missing field and fields of a default object get their defaults", `{}`, `{color: grey, maybe: x, box: {lid: true}}`},
		"Set":          {"existing values are kept", `{color: red, maybe: y, box: {lid: false}}`, `{color: red, maybe: y, box: {lid: false}}`},
		"Null":         {"a null is replaced by the default, unless it is allowed", `{color: null, maybe: null}`, `{color: grey, maybe: null, box: {lid: true}}`},
		"NoParent":     {"a missing parent is not created", `{color: a, maybe: b, crate: {}}`, `{color: a, maybe: b, box: {lid: true}, crate: {lid: true}}`},
		"Items":        {"each element of a list gets its defaults", `{color: a, maybe: b, parts: [{}, {size: 2}, null]}`, `{color: a, maybe: b, box: {lid: true}, parts: [{size: 1}, {size: 2}, {size: 9}]}`},
		"Free":         {"each value of a map gets its defaults", `{color: a, maybe: b, tags: {x: {}, y: null}}`, `{color: a, maybe: b, box: {lid: true}, tags: {x: {level: low}, y: none}}`},
		"UnknownField": {"unknown fields are kept", `{color: a, maybe: b, other: {}}`, `{color: a, maybe: b, box: {lid: true}, other: {}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := e2e.Must(schema.NewXRD(e2e.Object(t, xrd)))(t)
			xr := &unstructured.Unstructured{Object: e2e.Object(t, `{apiVersion: gold.test/v1, kind: XWidget}`)}
			xr.Object["spec"] = e2e.Object(t, tc.spec)
			e2e.NoError(t, x.Default(xr))
			e2e.Equal(t, tc.reason, e2e.Object(t, tc.want), xr.Object["spec"])
		})
	}
}

func TestDefaultWithoutSpec(t *testing.T) {
	x := e2e.Must(schema.NewXRD(e2e.Object(t, xrd)))(t)
	xr := &unstructured.Unstructured{Object: e2e.Object(t, `{apiVersion: gold.test/v1, kind: XWidget}`)}
	e2e.NoError(t, x.Default(xr))
	if _, ok := xr.Object["spec"]; ok {
		t.Error("a missing spec was created")
	}
}

// TestDefaultWithoutSchema: Crossplane's own fields have their defaults even if the XRD has
// neither a schema nor a plural.
func TestDefaultWithoutSchema(t *testing.T) {
	x := e2e.Must(schema.NewXRD(e2e.Object(t, `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, spec: {group: gold.test, names: {kind: XWidget}, defaultCompositionUpdatePolicy: Manual, versions: [{name: v1}]}}`)))(t)
	xr := &unstructured.Unstructured{Object: e2e.Object(t, `{apiVersion: gold.test/v1, kind: XWidget, spec: {}}`)}
	e2e.NoError(t, x.Default(xr))
	e2e.Equal(t, "the update policy has the default of the XRD", map[string]any{"compositionUpdatePolicy": "Manual"}, xr.Object["spec"])
}

func TestDefines(t *testing.T) {
	cases := map[string]struct{ reason, xr, want string }{
		"Itself":  {"an XRD defines its own kind", `{apiVersion: gold.test/v1, kind: XWidget}`, ""},
		"Version": {"a missing version is an error", `{apiVersion: gold.test/v2, kind: XWidget}`, `version "v2" does not exist; the versions are v1`},
		"Group":   {"another group is an error", `{apiVersion: lead.test/v1, kind: XWidget}`, "the XRD defines XWidget of group"},
		"None":    {"a missing kind is not quoted", `{apiVersion: gold.test/v1}`, "the object has no kind, and the XRD defines XWidget of group"},
		"Kind":    {"another kind is an error", `{apiVersion: gold.test/v1, kind: XGadget}`, "the XRD defines XWidget of group"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, err := schema.NewXRD(e2e.Object(t, xrd))
			e2e.NoError(t, err)
			u := &unstructured.Unstructured{Object: e2e.Object(t, tc.xr)}
			err = errors.Join(x.Defines(u.GroupVersionKind()), x.Default(u))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestLegacy(t *testing.T) {
	cases := map[string]struct {
		reason, xrd string
		want        bool
	}{
		"V1":       {"a v1 XRD without a scope is legacy", `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition}`, true},
		"V1Scoped": {"the scope of a v1 XRD decides", `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, spec: {scope: Cluster}}`, false},
		"V2":       {"a v2 XRD without a scope is not legacy", `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition}`, false},
		"V2Legacy": {"a v2 XRD with scope LegacyCluster is legacy", `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, spec: {scope: LegacyCluster}}`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := e2e.Must(schema.NewXRD(e2e.Object(t, tc.xrd)))(t)
			e2e.Equal(t, tc.reason, tc.want, x.Legacy())
		})
	}
}

func TestNewXRDRefusesOthers(t *testing.T) {
	e2e.Error(t, "a ConfigMap was accepted as an XRD", e2e.Err(schema.NewXRD(e2e.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`))))
	const want = `spec.scope is "namespaced", expected Namespaced or Cluster, did you mean Namespaced?`
	if _, err := schema.NewXRD(e2e.Object(t, `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, spec: {scope: namespaced}}`)); err == nil || err.Error() != want {
		t.Errorf("an XRD of an unknown scope: got %v, want %s", err, want)
	}
}

func TestOffers(t *testing.T) {
	const claims = `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, spec: {group: gold.test, names: {kind: XWidget}, claimNames: {kind: Widget}}}`
	cases := map[string]struct {
		reason, xrd, object string
		want                bool
	}{
		"Claim":      {"the kind in claimNames is offered", claims, `{apiVersion: gold.test/v1, kind: Widget}`, true},
		"AnyVersion": {"a claim may have any version", claims, `{apiVersion: gold.test/v2, kind: Widget}`, true},
		"XR":         {"the kind of the XR is not offered", claims, `{apiVersion: gold.test/v1, kind: XWidget}`, false},
		"Group":      {"a kind of another group is not offered", claims, `{apiVersion: lead.test/v1, kind: Widget}`, false},
		"NoClaims":   {"an XRD without claimNames offers no claims, not even an empty kind", xrd, `{apiVersion: gold.test/v1}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := e2e.Must(schema.NewXRD(e2e.Object(t, tc.xrd)))(t)
			u := &unstructured.Unstructured{Object: e2e.Object(t, tc.object)}
			e2e.Equal(t, tc.reason, tc.want, x.Offers(u.GroupVersionKind()))
		})
	}
}

func TestNames(t *testing.T) {
	type names struct{ Kind, Enforced, Default string }
	cases := map[string]struct {
		reason, spec string
		want         names
	}{
		"All": {
			"each name is read from its path in the API",
			`{names: {kind: XWidget}, enforcedCompositionRef: {name: must}, defaultCompositionRef: {name: may}}`,
			names{"XWidget", "must", "may"},
		},
		"None":     {"a missing name is empty", `{}`, names{}},
		"Nonsense": {"a name of another type is empty", `{names: [], enforcedCompositionRef: must, defaultCompositionRef: {name: 1}}`, names{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := e2e.Object(t, `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition}`)
			obj["spec"] = e2e.Object(t, tc.spec)
			x := e2e.Must(schema.NewXRD(obj))(t)
			got := names{x.Kind(), x.EnforcedComposition(), x.DefaultComposition()}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// The names of a definition's fields are case-sensitive.
func TestNewIgnoresCapitals(t *testing.T) {
	for _, spec := range []string{`Spec: {group: gold.test, versions: [{name: v1}]}`, `spec: {Group: gold.test, Versions: [{name: v1}]}`} {
		def := definition(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, `+spec+`}`)
		if len(def.Versions()) > 0 || def.GroupKind.Group != "" {
			t.Errorf("%s: got the group %q and the versions %q, want none", spec, def.GroupKind.Group, def.Versions())
		}
		want := []string{"spec.scope: is required", "spec.versions: must have exactly one version marked as storage version"}
		e2e.Equal(t, "fields with other capitals count as missing", want, lines(def.Check(t.Context())))
	}
}
