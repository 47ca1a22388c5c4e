package session

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/render"
)

func TestNestedObserved(t *testing.T) {
	const (
		alphaUID = "08f6200a-ad95-54b4-9e72-1b4e4f1ead32"
		mine     = "{apiVersion: gold.test/v1, kind: %s, metadata: {name: %s, annotations: {crossplane.io/composition-resource-name: %s}, ownerReferences: [{apiVersion: gold.test/v1, kind: %s, name: %s, uid: %s, controller: true}]%s}%s}"
	)
	gadget := func(more string) string {
		return fmt.Sprintf(mine, "XGadget", "g1", "a", "XWidget", "alpha", alphaUID, more, ", spec: {crossplane: {compositionRef: {name: second}}}, status: {phase: up}")
	}
	bolt := func(name, owner, uid string) string {
		return fmt.Sprintf(mine, "Bolt", name, "bolt", "XGadget", owner, uid, "", "")
	}
	library := []string{
		composing("XWidget", part("a", "XGadget")),
		composingNamed("second", "XGadget", part("bolt", "Bolt")), composingNamed("first", "XGadget", part("nut", "Nut")),
	}
	type seen struct {
		Observed []string
		UID      string
	}
	cases := map[string]struct {
		reason   string
		observed []string
		want     map[string]seen
		wantErr  string
	}{
		"Tree": {
			"each XR observes the resources that it controls; an existing nested XR keeps its UID and Composition",
			[]string{bolt("b1", "g1", "u-1"), gadget(", uid: u-1"), bolt("b2", "g2", "u-2")},
			map[string]seen{"alpha": {[]string{"g1"}, ""}, "g1": {[]string{"b1"}, "u-1"}},
			"",
		},
		"UIDOfReferences": {
			"the UID of a nested XR is found in the resources that it controls",
			[]string{gadget(""), bolt("b1", "g1", "u-1")},
			map[string]seen{"alpha": {[]string{"g1"}, ""}, "g1": {[]string{"b1"}, "u-1"}},
			"",
		},
		"Loose": {
			"a resource without a controller belongs to the first XR",
			[]string{gadget(", uid: u-1"), "{apiVersion: gold.test/v1, kind: Nut, metadata: {name: nut1, annotations: {crossplane.io/composition-resource-name: nut}}}"},
			map[string]seen{"alpha": {[]string{"g1", "nut1"}, ""}, "g1": {nil, "u-1"}},
			"",
		},
		"OtherUID": {
			"a controller with the right name and the wrong UID is an error",
			[]string{gadget(", uid: u-1"), bolt("b1", "g1", "u-9")},
			nil, `observed resource "b1" is controlled by XGadget "g1"`,
		},
		"Stranger": {
			"a resource with another controller is refused by the engine",
			[]string{gadget(", uid: u-1"), fmt.Sprintf(mine, "Bolt", "b", "bolt", "Deployment", "d", "u-3", "", "")},
			nil, `observed resource "b" is controlled by Deployment "d"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := nestingOf(t, library...)
			var objects []*unstructured.Unstructured
			for _, text := range tc.observed {
				objects = append(objects, object(t, text))
			}
			n.observed = observe(n.library, state{named: objects})
			got := map[string]seen{}
			engine := n.render
			n.render = func(ctx context.Context, s render.Request) (*render.Result, error) {
				names := []string(nil)
				for _, o := range s.Observed {
					names = append(names, o.GetName())
				}
				got[s.XR.GetName()] = seen{names, string(s.XR.GetUID())}
				return engine(ctx, s)
			}
			all, err := renderAll(t.Context(), n, object(t, widget))
			if e2e.WantError(t, tc.reason, err, tc.wantErr); err != nil {
				return
			}
			e2e.Equal(t, tc.reason, tc.want, got)
			if phase, _, _ := unstructured.NestedString(all[1].Full, "status", "phase"); phase != "up" {
				t.Errorf("the nested XR lost its observed status: got %v", all[1].Full["status"])
			}
			e2e.Equal(t, "a nested XR keeps its Composition", "Bolt", all[1].Composed[0]["kind"])
		})
	}
}

// TestNestedObservedByNamespace: the controller of an observed resource must be
// in the namespace of the resource, or cluster-scoped.
func TestNestedObservedByNamespace(t *testing.T) {
	const owned = "{apiVersion: gold.test/v1, kind: Bolt, metadata: {name: b, namespace: %s, ownerReferences: [{apiVersion: gold.test/v1, kind: XWidget, name: alpha, uid: u, controller: true}]}}"
	n := nestingOf(t, composing("XWidget"))
	n.observed = observe(n.library, state{named: []*unstructured.Unstructured{object(t, fmt.Sprintf(owned, "east")), object(t, fmt.Sprintf(owned, "west"))}})
	cases := map[string]struct {
		reason, namespace string
		want              int
	}{
		"Its":     {"a controller is in the namespace of its resource", "east", 1},
		"Other":   {"an XR of that name in another namespace is not the controller", "north", 0},
		"Cluster": {"a cluster-scoped XR can control resources in any namespace", "", 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xr := object(t, widget)
			xr.SetNamespace(tc.namespace)
			e2e.Equal(t, tc.reason, tc.want, len(n.observed.of(xr, true)))
		})
	}
}
