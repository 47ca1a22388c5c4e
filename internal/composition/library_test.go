package composition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: e2e.Object(t, text)}
}

// compositionFor returns a Composition for a kind of gold.test/v1.
func compositionFor(kind, name, labels string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: %s, labels: {%s}}, spec: {compositeTypeRef: {apiVersion: gold.test/v1, kind: %s}, mode: Pipeline, pipeline: []}}`, name, labels, kind)
}

// xrdFor returns an XRD of group gold.test for a kind. The text more is added to its spec.
func xrdFor(version, kind, more string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.crossplane.io/%s, kind: CompositeResourceDefinition, metadata: {name: %ss.gold.test}, spec: {group: gold.test, names: {kind: %s}%s}}`, version, strings.ToLower(kind), kind, more)
}

// documents returns the documents of a file with the texts. Between two texts is
// a separator line, so the texts begin on lines 1, 3, 5 and so on.
func documents(t *testing.T, texts ...string) []manifest.Document {
	t.Helper()
	return e2e.Must(manifest.Split("lib.yaml", []byte(strings.Join(texts, "\n---\n"))))(t)
}

func library(t *testing.T, texts ...string) *composition.Library {
	t.Helper()
	return e2e.Must(composition.Load(documents(t, texts...)))(t)
}

func TestLoad(t *testing.T) {
	cases := map[string]struct {
		reason                  string
		docs, want, wantIgnored []string
		wantErr                 string
	}{
		"Empty": {reason: "an empty folder is an empty library"},
		"Both": {
			reason: "Compositions keep their order, and XRDs are not ignored objects",
			docs:   []string{compositionFor("XWidget", "b", ""), xrdFor("v1", "XWidget", ""), xrdFor("v2", "XGadget", ""), compositionFor("XGadget", "a", "")},
			want:   []string{"b lib.yaml:1", "a lib.yaml:7"},
		},
		"Others": {
			reason:      "other objects are ignored and listed",
			docs:        []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}", compositionFor("XWidget", "a", ""), "{a: b}", "{apiVersion: apiextensions.crossplane.io/v1, kind: Usage, metadata: {name: u}}"},
			want:        []string{"a lib.yaml:3"},
			wantIgnored: []string{`lib.yaml:1: ConfigMap "x"`, "lib.yaml:5: an object without a kind", `lib.yaml:7: Usage "u"`},
		},
		"OtherGroup": {
			reason:      "a Composition of another group is ignored",
			docs:        []string{"{apiVersion: acme.test/v1, kind: Composition, metadata: {name: x}}"},
			wantIgnored: []string{`lib.yaml:1: Composition "x"`},
		},
		"Twice": {
			reason:  "two Compositions with the same name are an error, even for other kinds",
			docs:    []string{compositionFor("XWidget", "a", ""), compositionFor("XGadget", "a", "")},
			wantErr: `lib.yaml:3: Composition "a" is already defined at lib.yaml:1`,
		},
		"XRDTwice": {
			reason:  "two XRDs with the same name are an error, even of other versions",
			docs:    []string{xrdFor("v1", "XWidget", ""), xrdFor("v2", "XWidget", "")},
			wantErr: `lib.yaml:3: CompositeResourceDefinition "xwidgets.gold.test" is already defined at lib.yaml:1`,
		},
		"SameName": {
			reason: "an XRD and a Composition may share a name",
			docs:   []string{xrdFor("v1", "XWidget", ""), compositionFor("XWidget", "xwidgets.gold.test", "")},
			want:   []string{"xwidgets.gold.test lib.yaml:3"},
		},
		"Broken": {
			reason:  "a document that cannot be read is an error",
			docs:    []string{compositionFor("XWidget", "a", ""), "a: ["},
			wantErr: "lib.yaml:3: ",
		},
		"Misfit": {
			reason:  "a Composition that cannot be decoded is an error with its position",
			docs:    []string{"{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, spec: {mode: [1]}}"},
			wantErr: "lib.yaml:1: spec.mode must be a string, not a list",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, err := composition.Load(documents(t, tc.docs...))
			if tc.wantErr != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
				return
			}
			e2e.NoError(t, err)
			var got []string
			for _, e := range l.Compositions() {
				got = append(got, e.GetName()+" "+e.Document.Position())
			}
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.Equal(t, tc.reason, tc.wantIgnored, l.Ignored())
		})
	}
}

func TestXRDs(t *testing.T) {
	l := library(t, xrdFor("v1", "XWidget", ", claimNames: {kind: Widget}"), xrdFor("v2", "XGadget", ""))
	cases := map[string]struct{ reason, object, wantXRD, wantClaims string }{
		"XR":      {"an XRD is found by the kind of its XRs", "{apiVersion: gold.test/v1, kind: XWidget}", "XWidget", ""},
		"Version": {"an XRD is found for each version", "{apiVersion: gold.test/v9, kind: XGadget}", "XGadget", ""},
		"Claim":   {"a claim's kind finds the XRD that offers it", "{apiVersion: gold.test/v1, kind: Widget}", "", "XWidget"},
		"Group":   {"another group has another XRD", "{apiVersion: lead.test/v1, kind: XWidget}", "", ""},
		"Neither": {"other kinds have no XRD", "{apiVersion: v1, kind: ConfigMap}", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			gvk := object(t, tc.object).GroupVersionKind()
			defines, ok := l.XRDFor(gvk)
			if ok != (tc.wantXRD != "") || defines.Kind() != tc.wantXRD {
				t.Errorf("%s: XRDFor got %q, %t", tc.reason, defines.Kind(), ok)
			}
			offers, ok := l.ClaimOf(gvk)
			if ok != (tc.wantClaims != "") || offers.Kind() != tc.wantClaims {
				t.Errorf("%s: ClaimOf got %q, %t", tc.reason, offers.Kind(), ok)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	one := []string{compositionFor("XWidget", "a", "size: big")}
	two := append(slices.Clone(one), compositionFor("XWidget", "b", "size: small"), compositionFor("XGadget", "c", "size: big"))
	with := func(xrd string) []string { return append(slices.Clone(two), xrd) }
	cases := map[string]struct {
		reason                        string
		library                       []string
		spec, want, wantErr, wantHint string
	}{
		"Only":       {reason: "the only Composition for a kind is selected", library: one, spec: "{}", want: "a"},
		"None":       {reason: "no Composition for a kind is an error", library: two[2:], spec: "{}", wantErr: "no Composition is for XWidget of apiVersion gold.test/v1", wantHint: "compositeTypeRef"},
		"Ref":        {reason: "a Composition is selected by reference", library: two, spec: "{crossplane: {compositionRef: {name: b}}}", want: "b"},
		"Similar":    {reason: "the kind with the most similar name is in the hint", library: []string{compositionFor("XGadget", "c", ""), compositionFor("XWidgett", "d", "")}, spec: "{}", wantErr: "no Composition is for XWidget", wantHint: "there is one for XWidgett of apiVersion gold.test/v1"},
		"RefMissing": {reason: "a missing Composition is not replaced by another", library: one, spec: "{crossplane: {compositionRef: {name: z}}}", wantErr: `the Composition "z", which the composite resource refers to, is not among the Compositions for this kind of composite resource: "a" (lib.yaml:1)`, wantHint: "add this Composition"},
		"RefOther":   {reason: "a Composition for another kind is not selected", library: two, spec: "{crossplane: {compositionRef: {name: c}}}", wantErr: `"c", which the composite resource refers to`},
		"Labels":     {reason: "a Composition is selected by labels", library: two, spec: "{crossplane: {compositionSelector: {matchLabels: {size: small}}}}", want: "b"},
		"LabelsNone": {reason: "a selector may match no Composition, even if there is only one", library: one, spec: "{crossplane: {compositionSelector: {matchLabels: {size: small}}}}", wantErr: "has the labels of its selector"},
		"RefFirst":   {reason: "a reference has precedence over a selector", library: two, spec: "{crossplane: {compositionRef: {name: a}, compositionSelector: {matchLabels: {size: small}}}}", want: "a"},
		"Several":    {reason: "several matches are an error", library: two, spec: "{}", wantErr: `several Compositions match: "a" (lib.yaml:1), "b" (lib.yaml:3)`, wantHint: "at random"},
		"Enforced": {
			reason:  "an enforced Composition has precedence over a reference",
			library: with(xrdFor("v2", "XWidget", ", enforcedCompositionRef: {name: b}")), spec: "{crossplane: {compositionRef: {name: a}}}", want: "b",
		},
		"EnforcedMissing": {
			reason:  "an enforced Composition must exist",
			library: with(xrdFor("v2", "XWidget", ", enforcedCompositionRef: {name: z}")), spec: "{}", wantErr: `"z", which the XRD enforces`,
		},
		"Default": {
			reason:  "the default is selected for an XR without selection",
			library: with(xrdFor("v2", "XWidget", ", defaultCompositionRef: {name: b}")), spec: "{}", want: "b",
		},
		"DefaultAndRef": {
			reason:  "a reference has precedence over the default",
			library: with(xrdFor("v2", "XWidget", ", defaultCompositionRef: {name: b}")), spec: "{crossplane: {compositionRef: {name: a}}}", want: "a",
		},
		"DefaultAndLabels": {
			reason:  "a selector has precedence over the default",
			library: with(xrdFor("v2", "XWidget", ", defaultCompositionRef: {name: b}")), spec: "{crossplane: {compositionSelector: {matchLabels: {size: big}}}}", want: "a",
		},
		"DefaultAndNoLabels": {
			reason:  "an empty selector is a selector",
			library: with(xrdFor("v2", "XWidget", ", defaultCompositionRef: {name: b}")), spec: "{crossplane: {compositionSelector: {matchLabels: {}}}}", wantErr: "several Compositions",
		},
		"Legacy": {
			reason:  "a legacy XR has its reference directly below spec",
			library: with(xrdFor("v1", "XWidget", "")), spec: "{compositionRef: {name: b}, crossplane: {compositionRef: {name: a}}}", want: "b",
		},
		"Modern": {
			reason:  "in an XR that is not legacy, compositionRef below spec is another field",
			library: with(xrdFor("v2", "XWidget", "")), spec: "{compositionRef: {name: b}, crossplane: {compositionRef: {name: a}}}", want: "a",
		},
		"NoXRD": {
			reason: "without an XRD both places of a reference are used", library: two, spec: "{compositionSelector: {matchLabels: {size: small}}}", want: "b",
		},
		"NoXRDBoth": {
			reason: "without an XRD spec.crossplane has precedence", library: two, spec: "{compositionRef: {name: b}, crossplane: {compositionRef: {name: a}}}", want: "a",
		},
		"NoObject": {reason: "a spec of another type selects nothing", library: one, spec: "[]", want: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xr := object(t, "{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: "+tc.spec+"}")
			before := xr.DeepCopy()
			got, err := library(t, tc.library...).Select(xr)
			e2e.Equal(t, tc.reason, before, xr)
			if tc.wantErr != "" {
				e2e.ErrorHint(t, tc.reason, err, tc.wantErr, tc.wantHint)
				return
			}
			e2e.NoError(t, err)
			if got.GetName() != tc.want || got.Document.Path != "lib.yaml" {
				t.Errorf("%s: got %s of %s", tc.reason, got.GetName(), got.Document.Position())
			}
		})
	}
}

func TestForIsOfOneVersion(t *testing.T) {
	l := library(t, compositionFor("XWidget", "a", ""))
	e2e.Equal(t, "a Composition is for one version of a kind, but another version found", 0, len(l.For(object(t, "{apiVersion: gold.test/v2, kind: XWidget}").GroupVersionKind())))
}
