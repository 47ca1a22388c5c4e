package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session"
)

const widgetUID = "11111111-2222-3333-4444-555555555555"

// dumped returns a List of objects, as `kubectl get -o yaml` prints it.
func dumped(items ...string) string {
	return "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n- " + strings.Join(items, "\n- ") + "\n"
}

// owned returns a composed resource that is controlled by the XWidget called
// owner. resource is its name in the pipeline.
func owned(name, owner, uid, resource string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Thing, metadata: {name: %s, annotations: {crossplane.io/composition-resource-name: %s}, "+
		"ownerReferences: [{apiVersion: gold.test/v1, kind: XWidget, name: %s, uid: %q, controller: true}]}, size: 1}", name, resource, owner, uid)
}

func namesOf(objs []*unstructured.Unstructured) (names []string) {
	for _, o := range objs {
		names = append(names, o.GetName())
	}
	return names
}

func TestDump(t *testing.T) {
	live := fmt.Sprintf("{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, uid: %s}, "+
		"spec: {crossplane: {resourceRefs: [{apiVersion: v1, kind: Thing, name: thing-abc}]}}, status: {phase: up}}", widgetUID)
	own := owned("thing-abc", "alpha", widgetUID, "thing")
	cases := map[string]struct {
		reason, observed string
		want             []string
		wantUID, wantErr string
	}{
		"Own": {
			"an XR observes the dumped resources that its resourceRefs name, and has its dumped UID",
			dumped(live, own, owned("other-thing", "beta", "u-2", "thing"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: loose}}"),
			[]string{"thing-abc"},
			widgetUID, "",
		},
		"Legacy": {
			"the resourceRefs of a legacy XR are in spec",
			dumped(strings.Replace(live, "{crossplane: {resourceRefs: [{apiVersion: v1, kind: Thing, name: thing-abc}]}}", "{resourceRefs: [{apiVersion: v1, kind: Thing, name: thing-abc}]}", 1), own),
			[]string{"thing-abc"},
			widgetUID, "",
		},
		"Leftover": {
			"a controlled resource that no resourceRef names is not observed",
			dumped(live, own, owned("leftover", "alpha", widgetUID, "left")),
			[]string{"thing-abc"},
			widgetUID, "",
		},
		"NoReferences": {
			"an XR without resourceRefs observes nothing of a dump",
			dumped(fmt.Sprintf("{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, uid: %s}}", widgetUID), own),
			nil, widgetUID, "",
		},
		"OtherController": {
			"a resource that another object controls is not observed, although a resourceRef names it",
			dumped(live, owned("thing-abc", "beta", "u-2", "thing")),
			nil, widgetUID, "",
		},
		"WithoutXR": {"the UID of an XR is found in the resources that it controls", dumped(own), []string{"thing-abc"}, widgetUID, ""},
		"NoResourceName": {
			"a controlled resource without a pipeline name is not composed",
			dumped(strings.Replace(own, "annotations: {crossplane.io/composition-resource-name: thing}, ", "", 1)),
			nil, "", "",
		},
		"OtherKinds": {"a list of a specific kind is a dump, too", strings.Replace(dumped(own), "kind: List", "kind: ThingList", 1), []string{"thing-abc"}, widgetUID, ""},
		"Named": {
			"a resource outside of a list belongs to the XR, whatever its controller is",
			strings.ReplaceAll(owned("stray", "beta", "u-2", "thing"), "\n", ""),
			nil, "", `observed resource "stray" is controlled by XWidget "beta"`,
		},
		"Both": {
			"one file can have both",
			dumped(live, own) + "---\n{apiVersion: v1, kind: Thing, metadata: {name: mine, annotations: {crossplane.io/composition-resource-name: mine}}}\n",
			[]string{"mine", "thing-abc"},
			widgetUID, "",
		},
		"Twice": {"duplicates in a dump are observed once", dumped(live, own, own) + "---\n" + dumped(own), []string{"thing-abc"}, widgetUID, ""},
		"Last": {
			"of two objects in a dump, the last one is used",
			dumped(live, strings.Replace(own, "annotations: {crossplane.io/composition-resource-name: thing}, ", "", 1), own),
			[]string{"thing-abc"},
			widgetUID, "",
		},
		"Empty":   {"a list can be empty", "{apiVersion: v1, kind: List, items: null}", nil, "", ""},
		"NoKind":  {"an item that is not an object is an error", dumped(live, "{a: b}"), nil, "", "observed.yaml:6: items[1] is not an object with a kind"},
		"NoItems": {"the kind of an object can end in List", "{apiVersion: v1, kind: AllowList, metadata: {name: l, annotations: {crossplane.io/composition-resource-name: l}}, items: {a: b}}", []string{"l"}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{}, map[string]string{"composition.yaml": patched(thing), "observed.yaml": tc.observed})
			in := inputs
			in.Observed, in.Full = []string{"observed.yaml"}, true
			r, err := renderOne(t.Context(), s, in)
			if e2e.WantError(t, tc.reason, err, tc.wantErr); err != nil {
				return
			}
			e2e.Equal(t, tc.reason, tc.want, namesOf(r.Observed))
			got := unstructured.Unstructured{Object: r.Composed[0]}
			if uid := string(got.GetOwnerReferences()[0].UID); tc.wantUID != "" && uid != tc.wantUID {
				t.Errorf("%s: the XR has UID %q", tc.reason, uid)
			}
			if slices.Contains(tc.want, "thing-abc") && got.GetName() != "thing-abc" {
				t.Errorf("%s: the existing resource gets the new name %q", tc.reason, got.GetName())
			}
		})
	}
}

// TestLive: Inputs.Live renders the XRs in a cluster dump with the Compositions
// that they select.
func TestLive(t *testing.T) {
	one := func(kind, name, composition, more string) string {
		return fmt.Sprintf("{apiVersion: gold.test/v1, kind: %s, metadata: {name: %s, uid: u-%s%s}, spec: {size: 2, crossplane: {compositionRef: {name: %s}}}}", kind, name, name, more, composition)
	}
	const xrd = "{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: xwidgets.gold.test}, spec: {group: gold.test, scope: LegacyCluster, " +
		"names: {kind: XWidget, plural: xwidgets}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, colour: {type: string, default: red}}}}}}}]}}"
	cases := map[string]struct {
		reason, dump string
		want         []string
		notes        string
	}{
		"All":    {"each XR that selects the Composition is rendered", dumped(one("XWidget", "b", "widgets", ""), one("XWidget", "a", "widgets", "")), []string{"b", "a"}, ""},
		"Others": {"an XR that selects another Composition is skipped with a note", dumped(one("XWidget", "a", "others", ""), one("XWidget", "b", "widgets", "")), []string{"b"}, "skipping XWidget \"a\""},
		"Kinds":  {"an XR without a Composition is skipped", dumped(one("XGadget", "g", "widgets", ""), one("XWidget", "a", "widgets", "")), []string{"a"}, ""},
		"Nested": {
			"an XR that another composes is rendered with it",
			dumped(one("XWidget", "a", "widgets", ""), one("XWidget", "b", "widgets", ", ownerReferences: [{apiVersion: gold.test/v1, kind: XWidget, name: a, uid: u-a, controller: true}]")),
			[]string{"a"},
			"",
		},
		"XRD":  {"the XRDs of the dump are used", dumped(xrd, strings.Replace(one("XWidget", "a", "", ""), "crossplane: {compositionRef: {name: }}", "compositionRef: {name: widgets}", 1)), []string{"a"}, ""},
		"None": {"a dump without XRs renders nothing", dumped("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"), nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var messages log
			s := open(t, session.Config{Progress: messages.record}, map[string]string{"composition.yaml": patched(thing), "dump.yaml": tc.dump})
			var got []string
			err := s.Render(t.Context(), session.Inputs{Live: true, Full: true, Compositions: []string{"composition.yaml"}, Observed: []string{"dump.yaml"}}, func(r session.Result) error {
				if r.Err == nil {
					xr := unstructured.Unstructured{Object: r.XR}
					got = append(got, xr.GetName())
					if name == "XRD" {
						if colour, _, _ := unstructured.NestedString(r.XR, "spec", "colour"); colour != "red" {
							t.Errorf("the XRD's defaults are missing: %v", r.XR["spec"])
						}
					}
				}
				return r.Err
			})
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.Has(t, tc.reason, strings.Join(messages.lines, "\n"), tc.notes)
		})
	}
}
