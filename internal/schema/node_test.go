package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/schema"
)

// root is that of a kind whose spec has a schema in flow style.
func root(t *testing.T, spec string) schema.Node {
	t.Helper()
	node, err := definition(t, widgets(spec)).Root("v1")
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// at walks along a path of fields; "*" is an element. It stops with "absent".
func at(n schema.Node, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		if name == "*" {
			n = n.Element()
			continue
		}
		next, ok := n.Field(name)
		if !ok {
			return "absent"
		}
		n = next
	}
	return n.Types().String()
}

func TestNode(t *testing.T) {
	spec := root(t, `{type: object, properties: {
	  s: {type: string}, i: {type: integer}, num: {type: number, nullable: true}, b: {type: boolean}, x: {x-kubernetes-int-or-string: true},
	  l: {type: array, items: {type: array, items: {type: integer}}}, m: {type: object, additionalProperties: {type: string}},
	  open: {type: object, additionalProperties: true}, odd: {type: text},
	  kept: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: integer}}}, any: {x-kubernetes-preserve-unknown-fields: true},
	  embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`)
	cases := map[string]struct{ reason, path, want string }{
		"Text":             {"a type is a type", "spec.s", "a string"},
		"Integer":          {"an integer is no fraction", "spec.i", "an integer"},
		"Nullable":         {"null may be one of the types", "spec.num", "a number or null"},
		"Boolean":          {"as is said", "spec.b", "a boolean"},
		"IntOrString":      {"two may be possible", "spec.x", "a string or an integer"},
		"List":             {"lists have elements", "spec.l", "an array"},
		"Elements":         {"of a type, too", "spec.l.*.*", "an integer"},
		"Values":           {"and maps values", "spec.m.any-key", "a string"},
		"Open":             {"which may be any", "spec.open.a.b.c", "a value of any type"},
		"OddType":          {"a type that is none says nothing", "spec.odd", "a value of any type"},
		"Kept":             {"so do fields that are kept", "spec.kept.b.c", "a value of any type"},
		"KeptNamed":        {"unless they are named", "spec.kept.a", "an integer"},
		"Any":              {"a value may be any", "spec.any", "a value of any type"},
		"Absent":           {"other fields are not there", "spec.z", "absent"},
		"Scalar":           {"a string has none", "spec.s.a", "absent"},
		"AbsentAtRoot":     {"nor is there just anything at the top", "data", "absent"},
		"Kind":             {"every object has a kind", "kind", "a string"},
		"Labels":           {"and labels", "metadata.labels.a", "a string"},
		"Owners":           {"and owners", "metadata.ownerReferences.*.controller", "a boolean"},
		"Managers":         {"and managers, of which nothing is said", "metadata.managedFields.*.fieldsV1.f", "a value of any type"},
		"NoMetadata":       {"and what metadata has besides", "metadata.colour", "absent"},
		"Embedded":         {"so have objects in objects", "spec.embedded.metadata.name", "a string"},
		"EmbeddedRest":     {"with fields of their own", "spec.embedded.data.x", "a value of any type"},
		"NoMetadataInside": {"other fields have none", "spec.metadata", "absent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := at(spec, tc.path); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNodeDetails(t *testing.T) {
	n, _ := root(t, `{type: object, required: [b, gone], properties: {b: {type: string, enum: [x, z]}, a: {type: string, default: z}, c: {type: object, additionalProperties: {type: integer}}}}`).Field("spec")
	if diff := cmp.Diff([]string{"a", "b", "c"}, n.Named()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false} {
		if got := n.Always(name); got != want {
			t.Errorf("always %q: got %t", name, got)
		}
	}
	b, _ := n.Field("b")
	if diff := cmp.Diff([]any{"x", "z"}, b.Enum()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if _, ok := n.Rest(); ok {
		t.Error("an object with fields has no others")
	}
	c, _ := n.Field("c")
	if rest, ok := c.Rest(); !ok || rest.Types() != schema.Integer {
		t.Errorf("a map has any: got %s, %t", rest.Types(), ok)
	}
	var none schema.Node
	if rest, ok := none.Rest(); !ok || rest != none || none.Element() != none || none.Named() != nil || none.Enum() != nil || none.Always("a") || none.Types() != schema.Any {
		t.Error("the zero Node says something")
	}
}

func TestTypesInWords(t *testing.T) {
	for types, want := range map[schema.Types]string{
		schema.Any: "a value of any type", schema.Any &^ schema.Null: "a value of any type", schema.Number: "a number",
		schema.Fraction: "a number", schema.Null: "null", schema.Object | schema.Array | schema.Boolean: "a boolean or an object or an array",
	} {
		if got := types.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRootRefuses(t *testing.T) {
	const good = "{type: object}"
	cases := map[string]struct{ reason, text, version, want string }{
		"Version":  {"a version has to be there", widgets(good), "v7", "there is no version v7 of it, only v1, v0"},
		"NoSchema": {"and have a schema", strings.Replace(widgets(good), ", schema: {openAPIV3Schema: {type: object}}}", "}", 1), "v0", "version v0 has no schema"},
		"Untyped":  {"that has types", widgets("{properties: {a: {type: string}}}"), "v1", "the schema of version v1 cannot be used: spec.versions[0].schema.openAPIV3Schema.properties.spec.type is required: must not be empty for specified object fields"},
		"NoTree":   {"and is a tree", widgets("{type: object, properties: {a: {type: array, items: [{type: string}, {type: string}]}}}"), "v1", "the schema of version v1 cannot be used: OpenAPIV3Schema 'items' must be a schema"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := definition(t, tc.text).Root(tc.version); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s:\ngot  %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

func TestDefinitions(t *testing.T) {
	def := definition(t, widgets("{type: object}"))
	all := schema.Definitions{def.GroupKind: def}
	if got := all.Definition(kschema.GroupKind{Group: "gold.test", Kind: "Widget"}); got != def {
		t.Errorf("got %v", got)
	}
	if got := all.Definition(kschema.GroupKind{Group: "gold.test", Kind: "Gadget"}); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
}
