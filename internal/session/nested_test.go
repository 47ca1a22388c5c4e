package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/render"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: e2e.Object(t, text)}
}

// composing returns a Composition for a kind of gold.test/v1. The name of the
// Composition is the kind in lower case. Each of resources is a composed
// resource as "name: {resource: {…}}".
func composing(kind string, resources ...string) string {
	return composingNamed(strings.ToLower(kind), kind, resources...)
}

func composingNamed(name, kind string, resources ...string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: %s}, spec: {
  compositeTypeRef: {apiVersion: gold.test/v1, kind: %s}, mode: Pipeline,
  pipeline: [{step: make, functionRef: {name: function-dummy}, input: {apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: {desired: {resources: {%s}}}}}]}}`,
		name, kind, strings.Join(resources, ", "))
}

// part returns a resource of gold.test/v1 for composing. more has further
// fields of the resource.
func part(name, kind string, more ...string) string {
	return fmt.Sprintf("%s: {resource: {%s}}", name, strings.Join(append([]string{"apiVersion: gold.test/v1", "kind: " + kind}, more...), ", "))
}

// defining returns the XRD of a kind of gold.test. version is the API version
// of the XRD, and more has further fields of its spec.
func defining(version, kind string, more ...string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.crossplane.io/%s, kind: CompositeResourceDefinition, metadata: {name: %ss.gold.test}, spec: {group: gold.test, names: {kind: %s}, %s}}`,
		version, strings.ToLower(kind), kind, strings.Join(append(more, "versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {properties: {size: {default: 7}}}}}}}]"), ", "))
}

func libraryOf(t *testing.T, texts []string) *composition.Library {
	t.Helper()
	docs := e2e.Must(manifest.Split("lib.yaml", []byte(strings.Join(texts, "\n---\n"))))(t)
	return e2e.Must(composition.Load(docs))(t)
}

// A nesting contains the data from which renderAll creates a family.
type nesting struct {
	library  *composition.Library
	depth    int
	observed ownerIndex
	render   func(context.Context, render.Request) (*render.Result, error)
}

// nestingOf returns a nesting that renders with render.Render and the builtin
// function-dummy.
func nestingOf(t *testing.T, texts ...string) nesting {
	t.Helper()
	dummy, ok := builtin.Named("function-dummy")
	if !ok {
		t.Fatal("there is no builtin function-dummy")
	}
	runner := dummy.New(builtin.Options{})
	return nesting{library: libraryOf(t, texts), depth: maxDepth, render: func(ctx context.Context, s render.Request) (*render.Result, error) {
		return render.Render(ctx, runner, s)
	}}
}

// summary returns a line for each Result: the path and the name of the XR, the
// kinds of its composed resources, and warnings.
func summary(all []Result) []string {
	var lines []string
	for _, r := range all {
		line := fmt.Sprintf("%s: %s", strings.TrimPrefix(strings.TrimPrefix(r.Source, manifest.Document{}.Position()), " "), composition.Describe(&unstructured.Unstructured{Object: r.Full}))
		for _, c := range r.Composed {
			line += fmt.Sprintf(", %v", c["kind"])
		}
		for _, w := range r.Warnings {
			line += "; " + w
		}
		lines = append(lines, line)
	}
	return lines
}

const widget = "{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {}}"

func renderAll(ctx context.Context, n nesting, u *unstructured.Unstructured) ([]Result, error) {
	w := walk{family: &family{
		library: n.library, depth: n.depth, plan: plan{observed: n.observed},
		render: func(ctx context.Context, _ int, _ composition.Entry, req render.Request) (*LastPass, []Run, error) {
			r, err := n.render(ctx, req)
			return &LastPass{Result: r}, nil, err
		},
	}}
	xr, err := w.asXR(u)
	if err == nil {
		err = w.visit(ctx, xr, w.result(nil), nil)
	}
	if err != nil {
		return nil, err
	}
	return w.done, nil
}

func TestNested(t *testing.T) {
	named := func(name string) string { return "metadata: {name: " + name + "}" }
	cases := map[string]struct {
		reason  string
		library []string
		xr      string
		want    []string
	}{
		"Alone": {
			"an XR without nested XRs is rendered alone",
			[]string{composing("XWidget", part("a", "Bolt"))},
			widget,
			[]string{`: XWidget "alpha", Bolt`},
		},
		"Order": {
			"parents come before children, in the order of composed resources",
			[]string{
				composing("XWidget", part("b", "XGadget", named("b")), part("a", "XGadget", named("a")), part("c", "XPart", named("c"))),
				composing("XGadget", part("p", "XPart", named("p")), part("bolt", "Bolt")),
				composing("XPart", part("bolt", "Bolt")),
			},
			widget,
			[]string{
				`: XWidget "alpha", XGadget, XGadget, XPart`,
				`a: XGadget "a", Bolt, XPart`,
				`a > p: XPart "p", Bolt`,
				`b: XGadget "b", Bolt, XPart`,
				`b > p: XPart "p", Bolt`,
				`c: XPart "c", Bolt`,
			},
		},
		"DeepSiblings": {
			"each nested XR has its own path",
			[]string{
				composing("XWidget", part("a", "X1", named("x1"))), composing("X1", part("b", "X2", named("x2"))), composing("X2", part("c", "X3", named("x3"))),
				composing("X3", part("d", "X4", named("d")), part("e", "X4", named("e"))), composing("X4"),
			},
			widget,
			[]string{
				`: XWidget "alpha", X1`, `a: X1 "x1", X2`, `a > b: X2 "x2", X3`, `a > b > c: X3 "x3", X4, X4`,
				`a > b > c > d: X4 "d"`, `a > b > c > e: X4 "e"`,
			},
		},
		"Unmatched": {
			"an XR without a Composition is reported, other resources are not",
			[]string{composing("XWidget", part("a", "XGadget"), part("b", "Bolt"), part("c", "Gizmo", "spec: {}")), defining("v2", "XGadget"), defining("v1", "XGizmo", "claimNames: {kind: Gizmo}")},
			widget,
			[]string{`: XWidget "alpha", XGadget, Bolt, Gizmo; there is no Composition for composed resource "a", which is a composite resource; there is no Composition for composed resource "c", which is a composite resource`},
		},
		"OtherVersion": {
			"a Composition for another version of a kind is not selected",
			[]string{composing("XWidget", "a: {resource: {apiVersion: gold.test/v2, kind: XGadget}}"), composing("XGadget")},
			widget,
			[]string{`: XWidget "alpha", XGadget`},
		},
		"Selected": {
			"a nested XR selects its Composition as any other XR does",
			[]string{
				composing("XWidget", part("a", "XGadget", named("a"), "spec: {crossplane: {compositionRef: {name: second}}}")),
				composingNamed("first", "XGadget", part("bolt", "Bolt")), composingNamed("second", "XGadget", part("nut", "Nut")),
			},
			widget,
			[]string{`: XWidget "alpha", XGadget`, `a: XGadget "a", Nut`},
		},
		"SameKind": {
			"an XR can compose another of its kind, if the recursion ends",
			[]string{
				composingNamed("outer", "XWidget", part("a", "XWidget", named("beta"), "spec: {crossplane: {compositionRef: {name: inner}}}")),
				composingNamed("inner", "XWidget", part("bolt", "Bolt")),
			},
			"{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {crossplane: {compositionRef: {name: outer}}}}",
			[]string{`: XWidget "alpha", XWidget`, `a: XWidget "beta", Bolt`},
		},
		"Claim": {
			"a claim is converted to its XR",
			[]string{composing("XWidget", part("a", "Bolt")), defining("v1", "XWidget", "claimNames: {kind: Widget}")},
			"{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop, namespace: retail}, spec: {}}",
			[]string{`: XWidget "shop-fcm9r", Bolt`},
		},
		"ComposedClaim": {
			"a composed claim is converted to its XR",
			[]string{
				composing("XGadget", part("a", "Widget", "metadata: {name: shop, namespace: retail}, spec: {}")),
				composing("XWidget", part("a", "Bolt")), defining("v1", "XWidget", "claimNames: {kind: Widget}"),
			},
			"{apiVersion: gold.test/v1, kind: XGadget, metadata: {name: alpha}}",
			[]string{`: XGadget "alpha", Widget`, `a: XWidget "shop-fcm9r", Bolt`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, tc.xr)
			before := u.DeepCopy()
			n := nestingOf(t, tc.library...)
			got := e2e.Must(renderAll(t.Context(), n, u))(t)
			e2e.Equal(t, tc.reason, tc.want, summary(got))
			e2e.Equal(t, "the input is not changed", before, u)
			again, err := renderAll(t.Context(), n, u)
			if diff := cmp.Diff(got, again, cmpopts.IgnoreFields(Result{}, "Composition")); err != nil || diff != "" {
				t.Errorf("a second run differs: %v\n%s", err, diff)
			}
		})
	}
}

func TestNestedLooksLikeItsParentsOutput(t *testing.T) {
	n := nestingOf(
		t,
		composing("XWidget", part("a", "XGadget", "status: {lies: true}")), defining("v1", "XWidget", "claimNames: {kind: Widget}"),
		composing("XGadget", part("bolt", "Bolt")), defining("v2", "XGadget"),
	)
	all := e2e.Must(renderAll(t.Context(), n, object(t, "{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop, namespace: retail}, spec: {}}")))(t)
	if len(all) != 2 {
		t.Fatalf("got %v", summary(all))
	}
	gadget := &unstructured.Unstructured{Object: all[1].Full}
	composed := &unstructured.Unstructured{Object: all[0].Composed[0]}
	e2e.Equal(t, "the metadata of a composed XR differs from the metadata in its parent's output", composed.Object["metadata"], gadget.Object["metadata"])
	if _, ok, _ := unstructured.NestedFieldNoCopy(gadget.Object, "status", "lies"); ok {
		t.Error("the XR has a status that the parent desires, but the API server drops it")
	}
	bolt := &unstructured.Unstructured{Object: all[1].Composed[0]}
	want := map[string]string{"crossplane.io/composite": "shop-fcm9r", "crossplane.io/claim-name": "shop", "crossplane.io/claim-namespace": "retail"}
	e2e.Equal(t, "nested XRs get the labels of the outermost XR", want, bolt.GetLabels())
	if owners := bolt.GetOwnerReferences(); len(owners) != 1 || owners[0].Name != gadget.GetName() || owners[0].UID == gadget.GetOwnerReferences()[0].UID {
		t.Errorf("a nested resource has owners %v, but its own XR should own it", owners)
	}
	if _, ok, _ := unstructured.NestedFieldNoCopy(all[0].XR, "spec", "resourceRefs"); !ok {
		t.Error("an XR whose XRD is v1 is legacy: its references are right below its spec")
	}
	if _, ok, _ := unstructured.NestedFieldNoCopy(all[1].XR, "spec", "crossplane", "resourceRefs"); !ok {
		t.Error("an XR whose XRD is v2 is not legacy, whatever its parent is")
	}
}

func TestNestedDefaults(t *testing.T) {
	n := nestingOf(t, composing("XWidget", part("a", "XGadget", "spec: {}")), composing("XGadget"), defining("v2", "XGadget"))
	all := e2e.Must(renderAll(t.Context(), n, object(t, widget)))(t)
	if size, _, _ := unstructured.NestedFieldNoCopy(all[1].Full, "spec", "size"); size != float64(7) && size != int64(7) {
		t.Errorf("the XRD's default of a composed XR was not applied: got %v", size)
	}
	if _, ok, _ := unstructured.NestedFieldNoCopy(all[0].Composed[0], "spec", "size"); ok {
		t.Error("the parent's output must not have the default, which the parent does not desire")
	}
}
