package alpha_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

const (
	patchXR = "patch application/merge-patch+json XStall stall"
	newTill = `{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till}, spec: {drawers: 2}}`
)

// returns returns a function that outputs the given XR and composed resources.
func returns(t *testing.T, xr string, resources ...string) func(*fnio.FunctionIO) {
	return func(io *fnio.FunctionIO) {
		raw := e2e.Must((&unstructured.Unstructured{Object: e2e.Object(t, xr)}).MarshalJSON())(t)
		io.Desired = fnio.Desired{}
		io.Desired.Composite.Resource.Raw = raw
		desires(resources...)(io)
	}
}

// TestApply checks the write calls to the store, and the objects in the store
// after a reconcile.
func TestApply(t *testing.T) {
	cases := map[string]struct {
		reason   string
		existing []string
		f        func(*fnio.FunctionIO)
		calls    []string
		// kind and name identify an object in the store. want is the spec and
		// status of this object.
		kind, name string
		want       string
	}{
		"Create": {
			"a resource is created after the XR has a reference to it, without its status",
			nil,
			desires(newTill[:len(newTill)-1] + `, status: {a: 1}}}`),
			[]string{patchXR, "create Till stall-till"},
			"Till", "stall-till", `{"spec": {"drawers": 2}, "status": null}`,
		},
		"Patch": {
			"a merge patch keeps missing fields, deletes nulls, replaces lists and ignores status",
			[]string{exists("till", "spec: {drawers: 1, old: {a: 1, b: 2}, list: [1, 2]}, status: {a: 1}")},
			desires(`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till}, spec: {drawers: 2, old: {b: null, c: {d: null, e: 3}}, list: [3]}, status: {a: 2}}}`),
			[]string{patchXR, "patch application/merge-patch+json Till stall-till"},
			"Till", "stall-till", `{"spec": {"drawers": 2, "old": {"a": 1, "c": {"e": 3}}, "list": [3]}, "status": {"a": 1}}`,
		},
		"Two": {
			"of two resources with the same name the last one is applied",
			nil,
			desires(newTill+"}", `{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till}, spec: {drawers: 3}}}`),
			[]string{patchXR, "create Till stall-till"},
			"Till", "stall-till", `{"spec": {"drawers": 3}, "status": null}`,
		},
		"GenerateName": {
			"a resource without a name is created each time, and its reference has no name",
			nil,
			desires(`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {generateName: stall-}}}`),
			[]string{patchXR, "create Till stall-00001"},
			"XStall", "stall", `{"spec": {"slots": 4, "resourceRefs": [{"apiVersion": "kit.gold.test/v1", "kind": "Till"}]}, "status": null}`,
		},
		"Order": {
			"references are sorted by apiVersion, kind and name",
			nil,
			desires(
				`{name: a, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: b, namespace: ns}}}`,
				`{name: b, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: a}}}`,
				`{name: c, resource: {apiVersion: a.gold.test/v1, kind: Zoo, metadata: {name: z, uid: u}}}`),
			[]string{patchXR, "create Till b", "create Till a", "create Zoo z"},
			"XStall", "stall", `{"spec": {"slots": 4, "resourceRefs": [
				{"apiVersion": "a.gold.test/v1", "kind": "Zoo", "name": "z", "uid": "u"},
				{"apiVersion": "kit.gold.test/v1", "kind": "Till", "name": "a"},
				{"apiVersion": "kit.gold.test/v1", "kind": "Till", "name": "b", "namespace": "ns"}]}, "status": null}`,
		},
		"XR": {
			"the returned XR is merged into the existing one without its status",
			nil,
			returns(t, `{apiVersion: shop.gold.test/v1, kind: XStall, metadata: {name: stall}, spec: {open: true}, status: {phase: Open}}`),
			[]string{patchXR},
			"XStall", "stall", `{"spec": {"slots": 4, "open": true, "resourceRefs": []}, "status": null}`,
		},
		"XRWithoutUID": {
			"the XR still controls its resource if the returned XR has no UID",
			[]string{exists("till", "spec: {drawers: 1}")},
			returns(t, `{apiVersion: shop.gold.test/v1, kind: XStall, metadata: {name: stall}}`, newTill+"}"),
			[]string{patchXR, "patch application/merge-patch+json Till stall-till"},
			"Till", "stall-till", `{"spec": {"drawers": 2}, "status": null}`,
		},
		"AnotherXR": {
			"a returned XR with another name is created as another object",
			nil,
			returns(t, `{apiVersion: shop.gold.test/v1, kind: XStall, metadata: {name: other}}`),
			[]string{"create XStall other"},
			"XStall", "other", `{"spec": {"resourceRefs": []}, "status": null}`,
		},
		"Delete": {
			"a dropped resource is deleted before the XR's reference to it is removed",
			[]string{exists("b", "spec: {}"), exists("a", "spec: {}"), exists("till", "spec: {}")},
			desires(newTill + "}"),
			[]string{"delete Till stall-a", "delete Till stall-b", patchXR, "patch application/merge-patch+json Till stall-till"},
			"Till", "stall-a", `null`,
		},
		"Uncontrolled": {
			"a dropped resource that the XR does not control is not deleted",
			[]string{`{apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: t, creationTimestamp: "2023-01-01T00:00:00Z", annotations: {crossplane.io/composition-resource-name: t}}}`},
			echo,
			[]string{patchXR},
			"Till", "t", `{"spec": null, "status": null}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := world{
				spec: calls("f"), existing: tc.existing,
				xr:        "",
				functions: map[string]func(*fnio.FunctionIO){"f": tc.f},
			}.run(t).ok(t)
			e2e.Equal(t, tc.reason, tc.calls, p.store.Calls())
			var got any
			if o := p.stored(tc.kind, tc.name); o != nil {
				got = roundTripUnsorted(t, map[string]any{"spec": o["spec"], "status": o["status"]})
			}
			e2e.Equal(t, tc.reason, value(t, tc.want), got)
		})
	}
}

// TestLiteralDeletion checks when a dropped resource is deleted.
func TestLiteralDeletion(t *testing.T) {
	uncreated := `{apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till, annotations: {crossplane.io/composition-resource-name: till}, ownerReferences: [` + owner + `]}}`
	noUID := `{apiVersion: shop.gold.test/v1, kind: XStall, metadata: {name: stall}}`
	cases := map[string]struct {
		reason, existing, resources string
		f                           func(*fnio.FunctionIO)
		documented, literal         bool
	}{
		"OfAFunction": {"a dropped resource that a function added is deleted in both modes", exists("till", "spec: {}"), "", echo, true, true},
		"OfATemplate": {
			"literal: a rendered resource has no creation timestamp, so it is kept",
			exists("till", "spec: {}"), "resources:\n" + till + "}\n",
			func(io *fnio.FunctionIO) { io.Desired.Resources = nil },
			true, false,
		},
		"NoUID":     {"literal: a returned XR without UID controls no resource, so it is kept", exists("till", "spec: {}"), "", returns(t, noUID), true, false},
		"NotInTime": {"every existing resource has a creation timestamp, so it is deleted in both modes", uncreated, "", echo, true, false},
	}
	for name, tc := range cases {
		for literal, want := range map[bool]bool{false: tc.documented, true: tc.literal} {
			t.Run(name, func(t *testing.T) {
				p := world{
					spec: tc.resources + calls("f"), existing: []string{tc.existing}, literal: literal,
					functions: map[string]func(*fnio.FunctionIO){"f": tc.f},
				}.run(t).ok(t)
				e2e.Equal(t, fmt.Sprintf("%s: literal %v: deleted", tc.reason, literal), want, p.stored("Till", "stall-till") == nil)
			})
		}
	}
}

// TestMarks checks the labels, annotations and owner that Crossplane sets on each
// resource that a function returns.
func TestMarks(t *testing.T) {
	p := world{
		spec: calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": desires(
			`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: t, labels: {a: b, crossplane.io/claim-name: mine},` +
				` annotations: {c: d, crossplane.io/composition-resource-name: mine}, ownerReferences: [{apiVersion: v1, kind: Box, name: b, uid: u}]}}}`)},
	}.run(t).ok(t)
	want := `{"name": "t", "creationTimestamp": "2023-03-01T00:00:00Z", "uid": "uid-new",
		"annotations": {"c": "d", "crossplane.io/composition-resource-name": "till"},
		"labels": {"a": "b", "crossplane.io/composite": "stall", "crossplane.io/claim-name": "claim", "crossplane.io/claim-namespace": "market"},
		"ownerReferences": [{"apiVersion": "v1", "kind": "Box", "name": "b", "uid": "u"},
			{"apiVersion": "shop.gold.test/v1", "kind": "XStall", "name": "stall", "uid": "uid-xr", "controller": true, "blockOwnerDeletion": true}]}`
	e2e.Equal(t, "a resource has the labels, annotations and owner that Crossplane sets", value(t, want), roundTripUnsorted(t, p.stored("Till", "t")["metadata"]))
}

func roundTripUnsorted(t *testing.T, v any) any {
	t.Helper()
	raw := e2e.Must((&unstructured.Unstructured{Object: map[string]any{"kind": "X", "v": v}}).MarshalJSON())(t)
	return value(t, string(raw)).(map[string]any)["v"]
}

// TestApplyFails checks the errors for an XR and for composed resources that
// cannot be applied.
func TestApplyFails(t *testing.T) {
	others := `{apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till, ownerReferences: [{apiVersion: v1, kind: Box, name: b, uid: u, controller: true}]}}`
	cases := map[string]struct {
		reason   string
		existing []string
		f        func(*fnio.FunctionIO)
		want     string
	}{
		"Others": {
			"a resource that another object controls is not patched",
			[]string{others},
			desires(newTill + "}"),
			`cannot apply composed resource "till": existing object is not controlled by UID "uid-xr"`,
		},
		"Nameless": {
			"a returned resource without a name is an error",
			nil, desires(`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till}}`),
			`cannot apply composed resource "till": cannot get object: resource name may not be empty`,
		},
		"NamelessXR": {
			"a returned XR without a name is an error",
			nil, returns(t, `{apiVersion: shop.gold.test/v1, kind: XStall, metadata: {}}`),
			`cannot apply composite resource: cannot get object: resource name may not be empty`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			world{
				spec: calls("f"), existing: tc.existing,
				functions: map[string]func(*fnio.FunctionIO){"f": tc.f},
			}.run(t).failed(t, tc.reason, tc.want)
		})
	}
}

func TestStore(t *testing.T) {
	given := objects(e2e.Object(t, `{apiVersion: v1, kind: B, metadata: {name: b}}`), e2e.Object(t, `{apiVersion: v1, kind: A, metadata: {name: z, namespace: one}}`), e2e.Object(t, `{apiVersion: v1, kind: A, metadata: {name: a, namespace: two}}`))
	store := alpha.NewStore(given...)
	given[0].SetName("changed")
	store.Objects()[0].SetName("changed")
	var names []string
	for _, o := range store.Objects() {
		names = append(names, o.GetName())
	}
	e2e.Equal(t, "objects are sorted copies", []string{"z", "a", "b"}, names)
	if len(store.Calls()) > 0 {
		t.Errorf("got calls %q", store.Calls())
	}
}
