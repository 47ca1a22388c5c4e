package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/render"
)

func TestNestedErrors(t *testing.T) {
	cases := map[string]struct {
		reason             string
		library            []string
		xr, want, wantHint string
	}{
		"RootSelects": {
			"an error of a first XR without a Composition has no path",
			[]string{composing("XGadget")},
			widget,
			`selecting a Composition for XWidget "alpha": no Composition is for XWidget`, "compositeTypeRef",
		},
		"RootClaim": {
			"an error of an invalid claim has no path",
			[]string{composing("XWidget"), defining("v1", "XWidget", "claimNames: {kind: Widget}")},
			"{apiVersion: gold.test/v1, kind: Widget, metadata: {name: shop}}",
			`creating a composite resource of claim Widget "shop": the claim's spec`, "",
		},
		"RootFails": {
			"an error of the first XR has no path",
			[]string{composing("XWidget", part("a", "Bolt", "metadata: {name: A_B}"))},
			widget,
			`composing resource "a": the name "A_B"`, "",
		},
		"ChildFails": {
			"an error of a nested XR has the path to it",
			[]string{
				composing("XWidget", part("a", "XGadget", "metadata: {name: g}")),
				composing("XGadget", part("b", "Bolt", "metadata: {name: A_B}")),
			},
			widget,
			`rendering nested composite resources: XWidget "alpha" > XGadget "g": composing resource "b": the name "A_B"`, "",
		},
		"ChildSelects": {
			"an error of a nested XR without a Composition has the path to it",
			[]string{
				composing("XWidget", part("a", "XGadget", "metadata: {name: g}")),
				composingNamed("a", "XGadget"), composingNamed("b", "XGadget"),
			},
			widget,
			`XWidget "alpha": selecting a Composition for XGadget "g": several Compositions match`, "at random",
		},
		"ChildClaim": {
			"an error of a nested invalid claim has the path to it",
			[]string{
				composing("XWidget", part("a", "Gadget", "metadata: {name: g}")),
				composing("XGadget"), defining("v1", "XGadget", "claimNames: {kind: Gadget}"),
			},
			widget,
			`rendering nested composite resources: XWidget "alpha": creating a composite resource of claim Gadget "g": the claim's spec`, "",
		},
		"ChildVersion": {
			"an error of a version that the XRD does not have has the path to it",
			[]string{
				composing("XWidget", "a: {resource: {apiVersion: gold.test/v2, kind: XGadget, metadata: {name: g}}}"),
				strings.Replace(composing("XGadget"), "gold.test/v1", "gold.test/v2", 1), defining("v2", "XGadget"),
			},
			widget,
			`applying the defaults of the XRD of XGadget: version "v2" does not exist`, "",
		},
		"Itself": {
			"an XR that composes one of its parents is a cycle",
			[]string{
				composing("XWidget", part("a", "XGadget", "metadata: {name: g}")),
				composing("XGadget", part("b", "XWidget", "metadata: {name: alpha}")),
			},
			widget,
			`XWidget "alpha" > XGadget "g" > XWidget "alpha": the composite resource composes itself`, "",
		},
		"Endless": {
			"a cycle of kinds ends at the maximum depth",
			[]string{composing("XWidget", part("a", "XWidget"))},
			widget,
			"the composite resource is more than 8 levels below the first", "compose one another's XRs",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := renderAll(t.Context(), nestingOf(t, tc.library...), object(t, tc.xr))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(string(hint.Of(err)), tc.wantHint) {
				t.Fatalf("%s: got %v (hint: %s), want %q", tc.reason, err, hint.Of(err), tc.want)
			}
			if all != nil {
				t.Errorf("got a partial result with the error: %v", summary(all))
			}
			if strings.HasPrefix(name, "Root") && strings.Contains(err.Error(), "nested") {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestNestedDepth(t *testing.T) {
	kinds := []string{composing("X0", part("a", "X1")), composing("X1", part("a", "X2")), composing("X2", part("a", "Bolt"))}
	for depth, want := range map[int]bool{0: false, 1: false, 2: true, 3: true} {
		n := nestingOf(t, kinds...)
		n.depth = depth
		all, err := renderAll(t.Context(), n, object(t, "{apiVersion: gold.test/v1, kind: X0, metadata: {name: x}}"))
		if (err == nil) != want {
			t.Errorf("two levels with a maximum depth of %d: got %v", depth, err)
		}
		if want && len(all) != 3 {
			t.Errorf("maximum depth %d: got %v", depth, summary(all))
		}
	}
}

func TestNestedCount(t *testing.T) {
	n := nestingOf(t, composing("XWidget"), composing("XGadget"))
	calls := 0
	n.render = func(_ context.Context, s render.Request) (*render.Result, error) {
		calls++
		r := &render.Result{}
		if s.XR.GetKind() == "XWidget" {
			r.Composed = make([]map[string]any, maxNested)
			for i := range r.Composed {
				r.Composed[i] = map[string]any{"apiVersion": "gold.test/v1", "kind": "XGadget"}
			}
		}
		return r, nil
	}
	e2e.ErrorHas(t, "the number of nested resources is limited", e2e.Err(renderAll(t.Context(), n, object(t, widget))), "more than 10000")
	e2e.Equal(t, "XRs up to the limit are rendered", maxNested, calls)
}

func TestNestedKeepsTheCause(t *testing.T) {
	fatal := &render.FatalError{}
	n := nestingOf(t, composing("XWidget", part("a", "XGadget")), composing("XGadget"))
	engine := n.render
	n.render = func(ctx context.Context, s render.Request) (*render.Result, error) {
		if s.XR.GetKind() == "XGadget" {
			return nil, fatal
		}
		return engine(ctx, s)
	}
	var got *render.FatalError
	if _, err := renderAll(t.Context(), n, object(t, widget)); !errors.As(err, &got) || got != fatal {
		t.Errorf("the exit code depends on a nested XR's fatal result: got %v", err)
	}
}

func TestNestedStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	n := nestingOf(t, composing("XWidget", part("a", "XGadget")), composing("XGadget"))
	engine := n.render
	n.render = func(_ context.Context, s render.Request) (*render.Result, error) {
		if s.XR.GetKind() == "XGadget" {
			t.Error("another XR was rendered after the end")
		}
		r, err := engine(t.Context(), s)
		cancel(errors.New("enough"))
		return r, err
	}
	e2e.ErrorHas(t, "rendering returns the cause of its context", e2e.Err(renderAll(ctx, n, object(t, widget))), "enough")
}
