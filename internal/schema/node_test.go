package schema_test

import (
	"fmt"
	"strings"
	"testing"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

// root returns the root Node of a kind. spec is the schema of its field spec,
// as YAML in flow style.
func root(t *testing.T, spec string) schema.Node {
	t.Helper()
	return e2e.Must(definition(t, widgets(spec)).Root("v1"))(t)
}

// at returns the types that the schema n allows at a path of fields, in which "*" is an
// element of a list. It returns "absent" for a field that is not allowed.
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
		"Text":             {"a value has the type of its schema", "spec.s", "a string"},
		"Integer":          {"an integer has no fraction", "spec.i", "an integer"},
		"Nullable":         {"a nullable value may be null", "spec.num", "a number or null"},
		"Boolean":          {"a boolean has its type", "spec.b", "a boolean"},
		"IntOrString":      {"an int-or-string has two types", "spec.x", "a string or an integer"},
		"List":             {"a list is an array", "spec.l", "an array"},
		"Elements":         {"elements of a list have a type", "spec.l.*.*", "an integer"},
		"Values":           {"values of a map have a type", "spec.m.any-key", "a string"},
		"Open":             {"values of a map may have any type", "spec.open.a.b.c", "a value of any type"},
		"OddType":          {"an unknown type allows any", "spec.odd", "a value of any type"},
		"Kept":             {"an unknown field that is preserved has any type", "spec.kept.b.c", "a value of any type"},
		"KeptNamed":        {"a property has its type although unknown fields are preserved", "spec.kept.a", "an integer"},
		"Any":              {"an empty schema allows any type", "spec.any", "a value of any type"},
		"Absent":           {"an undefined field does not exist", "spec.z", "absent"},
		"Scalar":           {"a string has no fields", "spec.s.a", "absent"},
		"AbsentAtRoot":     {"an object has no unknown fields at the root", "data", "absent"},
		"Kind":             {"every object has a kind", "kind", "a string"},
		"Labels":           {"every object has labels", "metadata.labels.a", "a string"},
		"Owners":           {"every object has owner references", "metadata.ownerReferences.*.controller", "a boolean"},
		"Managers":         {"managed fields have any type", "metadata.managedFields.*.fieldsV1.f", "a value of any type"},
		"NoMetadata":       {"other fields of metadata do not exist", "metadata.colour", "absent"},
		"Embedded":         {"an embedded object has metadata", "spec.embedded.metadata.name", "a string"},
		"EmbeddedRest":     {"an embedded object preserves its other fields", "spec.embedded.data.x", "a value of any type"},
		"NoMetadataInside": {"a field that is not an embedded object has no metadata", "spec.metadata", "absent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, at(spec, tc.path))
		})
	}
}

func TestNodeDetails(t *testing.T) {
	n, _ := root(t, `{type: object, required: [b, gone], properties: {b: {type: string, enum: [x, z]}, a: {type: string, default: z}, c: {type: object, additionalProperties: {type: integer}}}}`).Field("spec")
	e2e.Equal(t, "all properties are named in sorted order", []string{"a", "b", "c"}, n.Named())
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false} {
		e2e.Equal(t, fmt.Sprintf("only required and defaulted properties always exist: %q", name), want, n.Always(name))
	}
	b, _ := n.Field("b")
	e2e.Equal(t, "an enum has all its values", []any{"x", "z"}, b.Enum())
	if _, ok := n.Rest(); ok {
		t.Error("an object with properties has other fields")
	}
	c, _ := n.Field("c")
	if rest, ok := c.Rest(); !ok || rest.Types() != schema.Integer {
		t.Errorf("the values of a map have another type: got %s, %t", rest.Types(), ok)
	}
	var none schema.Node
	if rest, ok := none.Rest(); !ok || rest != none || none.Element() != none || none.Named() != nil || none.Enum() != nil || none.Always("a") || none.Types() != schema.Any {
		t.Error("the zero Node has restrictions")
	}
}

func TestTypesInWords(t *testing.T) {
	for types, want := range map[schema.Types]string{
		schema.Any: "a value of any type", schema.Any &^ schema.Null: "a value of any type", schema.Number: "a number",
		schema.Fraction: "a number", schema.Null: "null", schema.Object | schema.Array | schema.Boolean: "a boolean or an object or an array",
	} {
		e2e.Equal(t, "types are described in words", want, types.String())
	}
}

func TestRootRefuses(t *testing.T) {
	const good = "{type: object}"
	cases := map[string]struct{ reason, text, version, want string }{
		"Version":  {"a version must exist", widgets(good), "v7", "version v7 does not exist; the versions are v1, v0"},
		"NoSchema": {"a version must have a schema", strings.Replace(widgets(good), ", schema: {openAPIV3Schema: {type: object}}}", "}", 1), "v0", "version v0 has no schema"},
		"Untyped":  {"a schema must have types", widgets("{properties: {a: {type: string}}}"), "v1", "the schema of version v1 cannot be used: spec.versions[0].schema.openAPIV3Schema.properties.spec.type is required: must not be empty for specified object fields"},
		"NoTree":   {"a schema must be structural", widgets("{type: object, properties: {a: {type: array, items: [{type: string}, {type: string}]}}}"), "v1", "the schema of version v1 cannot be used: OpenAPIV3Schema 'items' must be a schema"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := definition(t, tc.text).Root(tc.version); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s:\ngot  %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

// TestUnsupportedKeywords checks that Check names the place of a keyword that no structural schema has.
func TestUnsupportedKeywords(t *testing.T) {
	const at = "spec.versions[0].schema.openAPIV3Schema.properties.spec."
	for _, tc := range []struct {
		reason, schema string
		want           []string
	}{
		{"a reference is found below properties", `{type: object, properties: {b: {$ref: "#/x"}, a: {$ref: "#/x"}}}`, []string{at + "properties.a.$ref: '$ref' is not supported: write each schema where it is used", at + "properties.b.$ref: '$ref' is not supported: write each schema where it is used"}},
		{"a list of items is found in the items of a list", "{type: array, items: {type: array, items: [{type: string}]}}", []string{at + "items.items: 'items' must be a schema, but is an array"}},
		{"keywords of values and alternatives are found", "{type: object, additionalProperties: {type: object, patternProperties: {a: {type: string}}}, allOf: [{not: {additionalItems: true}}]}", []string{at + "additionalProperties.patternProperties: 'patternProperties' is not supported", at + "allOf[0].not.additionalItems: 'additionalItems' is not supported"}},
		{"false has no effect", "{type: object, x-kubernetes-preserve-unknown-fields: false}", []string{at + "x-kubernetes-preserve-unknown-fields: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"}},
	} {
		e2e.Equal(t, tc.reason, tc.want, lines(definition(t, widgets(tc.schema)).Check(t.Context())))
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
