package composition_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

const widgets = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets, labels: {shape: square}}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
  mode: Pipeline
  pipeline:
  - step: make
    functionRef: {name: function-dummy}
    input: {kind: Response}
  madeUp: true
`

func document(text string) manifest.Document {
	return manifest.Document{Path: "composition.yaml", Line: 1, Text: []byte(text)}
}

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		reason, text, want string
	}{
		"Good":         {"a Composition with unknown fields is decoded", widgets, ""},
		"OtherKind":    {"another kind is an error with its name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", `composition.yaml:2: expected a Composition, got ConfigMap "x"`},
		"OtherGroup":   {"another group is an error", "apiVersion: acme.test/v1\nkind: Composition\n", "expected a Composition of apiVersion apiextensions.crossplane.io/v1, got acme.test/v1"},
		"NoKind":       {"an object without a kind is an error", "a: b\n", "expected a Composition, got an object without a kind"},
		"List":         {"a list is not an object", "- a\n", "expected an object, got a list"},
		"WrongType":    {"a field of another type is an error with its line", strings.Replace(widgets, "mode: Pipeline", "mode: [1]", 1), "composition.yaml:7: spec.mode must be a string, not a list"},
		"InvalidYAML":  {"a YAML error has its line", "a: b\n b: [\n", "composition.yaml:2: "},
		"EmptyMapping": {"an empty object is an error", "{}\n", "an object without a kind"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := composition.Decode(document(tc.text))
			if tc.want == "" {
				e2e.NoError(t, err)
				if c.GetName() != "widgets" || len(c.Spec.Pipeline) != 1 {
					t.Errorf("%s: got %+v", tc.reason, c)
				}
				return
			}
			e2e.ErrorHas(t, tc.reason, err, tc.want)
		})
	}
}

// TestDecodeLegacy checks which fields of a legacy Composition are kept.
func TestDecodeLegacy(t *testing.T) {
	e, err := composition.Decode(document(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets, labels: {shape: square}}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
  writeConnectionSecretsToNamespace: secrets
  mode: Resources
  resources: [{base: {kind: Bolt}}]
`))
	e2e.NoError(t, err)
	switch spec := e.Spec; {
	case !e.Converted, e.Alpha, len(e.Notes) != 1, e.GetLabels()["shape"] != "square":
		t.Errorf("got %+v", e)
	case spec.Mode != "Pipeline", len(spec.Pipeline) != 1, spec.CompositeTypeRef.Kind != "XWidget", *spec.WriteConnectionSecretsToNamespace != "secrets":
		t.Errorf("got %+v", spec)
	case !strings.Contains(string(spec.Pipeline[0].Input.Raw), `"name":"resource-0"`):
		t.Errorf("got input %s", spec.Pipeline[0].Input.Raw)
	}
}

func TestMatch(t *testing.T) {
	selects := func(labels map[string]any) map[string]any {
		return map[string]any{"crossplane": map[string]any{"compositionSelector": map[string]any{"matchLabels": labels}}}
	}
	cases := map[string]struct {
		reason, apiVersion, kind string
		spec                     map[string]any
		text, want               string
	}{
		"Good":         {"the same kind and version match", "gold.test/v1", "XWidget", nil, widgets, ""},
		"Kind":         {"another kind is an error with both kinds", "gold.test/v1", "XGadget", nil, widgets, "is for kind XWidget, but the composite resource \"alpha\" is of kind XGadget"},
		"Version":      {"another version is an error with both versions", "gold.test/v2", "XWidget", nil, widgets, "is for apiVersion gold.test/v1, but"},
		"KindFirst":    {"the kind is checked before the version", "gold.test/v2", "XGadget", nil, widgets, "is for kind"},
		"Label":        {"a label with the same value matches", "gold.test/v1", "XWidget", selects(map[string]any{"shape": "square"}), widgets, ""},
		"LabelMissing": {"a missing label is an error", "gold.test/v1", "XWidget", selects(map[string]any{"colour": "red"}), widgets, "by label colour=red, which Composition \"widgets\" lacks"},
		"LabelOther":   {"a label with another value is an error", "gold.test/v1", "XWidget", selects(map[string]any{"shape": "round"}), widgets, "by label shape=round, but Composition \"widgets\" has square"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := e2e.Must(composition.Decode(document(tc.text)))(t)
			xr := &unstructured.Unstructured{Object: map[string]any{}}
			xr.SetAPIVersion(tc.apiVersion)
			xr.SetKind(tc.kind)
			xr.SetName("alpha")
			if tc.spec != nil {
				xr.Object["spec"] = tc.spec
			}
			switch err := composition.Match(c.Composition, xr, "spec", "crossplane", "compositionSelector", "matchLabels"); {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
