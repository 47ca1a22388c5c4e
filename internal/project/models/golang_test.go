package models_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/project/models"
)

// generateFor writes the models of a kind whose spec has one field, and returns their folder.
func generateFor(t *testing.T, field string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crd.yaml")
	e2e.WriteFile(t, path, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.cert-manager.example.org}
spec:
  group: cert-manager.example.org
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {`+field+`}}}}}
`)
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Go, models.JSON}}
	generate(t, to, source(t, path))
	return to.Dir
}

// The names and types are those of the crossplane CLI v2.5.0, so that functions compile with the
// models of both programs. The CLI also puts a group with a hyphen into a folder with a hyphen.
func TestGoNames(t *testing.T) {
	const union = "{x-kubernetes-int-or-string: true}"
	for name, tc := range map[string]struct{ reason, field, want string }{
		"Digits":     {"a constant of a version has no letter before the digits", "f: {type: string, enum: ['14', '5.7']}", `ThingSpecF14 ThingSpecF = "14"; ThingSpecF57 ThingSpecF = "5.7"`},
		"Initialism": {"a single capital before a word makes no initialism", "f: {type: string, enum: [id]}", `ThingSpecFId ThingSpecF = "id"`},
		"Words":      {"an initialism is a whole word", "size: {type: string, enum: [id]}", `ThingSpecSizeID ThingSpecSize = "id"`},
		"Same":       {"the second constant of a name has a number", "f: {type: string, enum: [a.b, a-b]}", `ThingSpecFAB ThingSpecF = "a.b"; ThingSpecFAB1 ThingSpecF = "a-b"`},
		"Empty":      {"a constant does not have the name of its type", "f: {type: string, enum: ['', a]}", `ThingSpecFThingSpecF ThingSpecF = ""; ThingSpecFThingSpecFA ThingSpecF = "a"`},
		"Number":     {"an enum of numbers has a type", "f: {type: number, enum: [0.5, 2]}", "type ThingSpecF float32; F *ThingSpecF"},
		"Boolean":    {"an enum of booleans has a type", "f: {type: array, items: {type: boolean, enum: [true]}}", "type ThingSpecFItem bool; F *[]ThingSpecFItem"},
		"EnumInMap":  {"an enum inside of a map or a list of lists is named by its path", "f: {type: object, additionalProperties: {type: string, enum: [a, b]}}, g: {type: array, items: {type: array, items: {type: string, enum: [a]}}}, h: {type: object, additionalProperties: {type: object, properties: {p: {type: array, items: {type: integer, enum: [1]}}}}}", `F *map[string]OrgExampleCertManagerV1ThingSpecF; OrgExampleCertManagerV1ThingSpecFA OrgExampleCertManagerV1ThingSpecF = "a"; G *[][]OrgExampleCertManagerV1ThingSpecG; P *[]OrgExampleCertManagerV1ThingSpecHP`},
		"Embedded":   {"an embedded resource of any kind is a map", "f: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}", "F *map[string]interface{} `json:\"f,omitempty\"`"},
		"Union":      {"a value of a map that is a number or a string has a type of its own", "f: {type: object, additionalProperties: " + union + "}", "F *map[string]OrgExampleCertManagerV1Thing_Spec_F_AdditionalProperties `json:"},
		"Nested":     {"a union inside of a map is named by its path", "f: {type: object, additionalProperties: {type: object, properties: {p: " + union + "}}}", "P *OrgExampleCertManagerV1Thing_Spec_F_P `json:"},
		"UnionList":  {"a union inside of a list of lists is named by its path", "f: {type: array, items: {type: array, items: " + union + "}}", "F *[][]OrgExampleCertManagerV1Thing_Spec_F_Item `json:"},
		"Nullable":   {"an element that may be null is a pointer", "f: {type: array, items: {type: string, nullable: true}}, g: {type: array, items: {type: array, nullable: true, items: {type: integer, nullable: true}}}, h: {type: object, additionalProperties: {type: object, nullable: true, required: [p], properties: {p: {type: boolean, nullable: true}}}}, i: {type: array, items: {type: string, nullable: true, enum: [a]}}", "F *[]*string; G *[]*[]*int; H *map[string]*ThingSpecHValue; P *bool `json:\"p\"`; I *[]*ThingSpecIItem"},
		"Defined":    {"an element whose type has a definition is not a pointer", "f: {type: array, items: {type: object, nullable: true, properties: {x: {type: string}}}}, g: {type: array, items: {x-kubernetes-preserve-unknown-fields: true, nullable: true}}", "F *[]ThingSpecFItem; G *[]ThingSpecGItem"},
		"Formats":    {"a format has the type of the runtime of the models", "f: {type: object, properties: {d: {type: string, format: date}, e: {type: string, format: email}, u: {type: string, format: uuid}, b: {type: string, format: binary}, x: {type: integer, format: uint32}, l: {type: array, items: {type: string, format: date}}}}", `import openapi_types "github.com/oapi-codegen/runtime/types"; D *openapi_types.Date; E *openapi_types.Email; U *openapi_types.UUID; B *openapi_types.File; X *uint32; L *[]openapi_types.Date`},
		"Any":        {"a value of any type has a name", "f: {x-kubernetes-preserve-unknown-fields: true}, l: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}", "type ThingSpecF = interface{}; F *ThingSpecF; type ThingSpecLItem = interface{}; L *[]ThingSpecLItem"},
		"AnyInMap":   {"a value of any type in a map has no name", "f: {type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: true}}, g: {type: object, additionalProperties: {type: object, properties: {x: {x-kubernetes-preserve-unknown-fields: true}}}}", "F *map[string]interface{}; type ThingSpecGValue = struct { X interface{} `json:"},
		"Lists":      {"a struct in a list of lists is equal to one without a name", "f: {type: array, items: {type: array, items: {type: object, properties: {x: {type: string}}}}}, g: {type: array, items: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}}", "type ThingSpecFItemItem = struct { X *string `json:\"x,omitempty\"` }; G *[][]interface{}"},
		"Required":   {"a required field of a struct in a map is not a pointer", "f: {type: object, additionalProperties: {type: object, required: [x], properties: {x: {type: string}, z: {type: string}}}}", "X string `json:\"x\"`; Z *string `json:\"z,omitempty\"`"},
		"Map":        {"a struct in a map is equal to one without a name", "f: {type: object, additionalProperties: {type: object, properties: {x: {type: string}}}}", "type ThingSpecFValue = struct { X *string `json:\"x,omitempty\"` }"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := generateFor(t, tc.field)
			all := strings.Join(outline(t, filepath.Join(dir, "go/org/example/cert-manager/v1/thing.go")), "\n")
			for want := range strings.SplitSeq(tc.want, "; ") {
				e2e.Has(t, tc.reason, all, want)
			}
		})
	}
}

// The packages and names of Kubernetes' own kinds are those of the crossplane CLI v2.5.0.
func TestGoOfKubernetes(t *testing.T) {
	const document = `{"components": {"schemas": {
"io.k8s.api.rbac.v1.Role": {"type": "object", "properties": {"kind": {"type": "string"}}, "x-kubernetes-group-version-kind": [{"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "Role"}]},
"io.k8s.api.core.v1.ServicePort": {"type": "object", "properties": {
  "targetPort": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString"}]},
  "limit": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}]}}},
"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}}},
"io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
"io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}}}}`
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Go}}
	generate(t, to, models.Source{ID: "k8s://v1.35.0", Version: "v1.35.0", Definitions: func(context.Context) (models.Definitions, error) {
		d := models.Definitions{}
		return d, d.OpenAPI([]byte(document))
	}})
	for file, wants := range map[string][]string{
		"authorization/rbac/v1/role.go": {"type Role struct"},
		"core/meta/v1/meta.go":          {"type ObjectMeta = metav1.ObjectMeta"},
		"core/v1/serviceport.go":        {"TargetPort *utilv1.IntOrString"},
		"util/v1/intorstring.go":        {"type Int = int", "type String = string", "func (t *IntOrString) FromInt(v Int) error", "func (t IntOrString) AsString() (String, error)"},
		"resource/v1/quantity.go":       {"func (t *Quantity) FromIoK8SApimachineryPkgAPIResourceQuantity0(v IoK8SApimachineryPkgAPIResourceQuantity0) error"},
	} {
		all := strings.Join(outline(t, filepath.Join(to.Dir, "go/io/k8s", file)), "\n")
		for _, want := range wants {
			e2e.Has(t, file+" has the declaration", all, want)
		}
	}
}

// Each field of a struct has the accessors of the crossplane CLI v2.5.0. A struct in a map has none.
func TestGoAccessors(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Go}, Accessors: true}
	generate(t, to, source(t, golden+"build-models-go/in/apis/d.yaml"), difficultSource(t))
	all := strings.Join(outline(t, filepath.Join(to.Dir, "go/org/example/platform/v1/site.go")), "\n")
	for _, want := range []string{"func (o *Site) GetSpec() *SiteSpec", "func (o *SiteSpec) SetSize(v *SiteSpecSize)", "func (o *SiteList) GetItems() *[]OrgExamplePlatformV1Site"} {
		e2e.Has(t, "each struct has accessors for its fields", all, want)
	}
	compile(t, to.Folder(models.Go), "vet")
}

// The JSON Schemas have the bytes of the crossplane CLI v2.5.0.
func TestJSONOfAnyValue(t *testing.T) {
	for name, tc := range map[string]struct{ reason, field, want string }{
		"Embedded": {"an embedded resource may have any fields", "f: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}", `{"f":{"additionalProperties":true,"type":"object"}}`},
		"Any":      {"a field without a type may have any value", "f: {x-kubernetes-preserve-unknown-fields: true}", `{"f":true}`},
		"Items":    {"items without a type may have any value", "f: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}", `{"f":{"items":true,"type":"array"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := generateFor(t, tc.field)
			e2e.Has(t, tc.reason, e2e.ReadFile(t, filepath.Join(dir, "json/org-example-cert-manager-v1-Thing.schema.json")), `"spec":{"properties":`+tc.want)
		})
	}
}

// A function that the crossplane CLI v2.5.0 generated has checksums of these versions only. Go
// refuses to compile it with models that require other versions.
func TestGoRequiresVersionsOfCrossplane(t *testing.T) {
	dir := generateFor(t, "f: {type: string}")
	mod, sum := e2e.ReadFile(t, filepath.Join(dir, "go/go.mod")), e2e.ReadFile(t, filepath.Join(dir, "go/go.sum"))
	template := e2e.ReadFile(t, "../generate/files/go/go.mod.txt")
	for _, version := range []string{"github.com/oapi-codegen/runtime v1.1.0", "k8s.io/apimachinery v0.33.0", "github.com/google/uuid v1.6.0"} {
		e2e.Has(t, "the models require the module", mod, "\t"+version)
		e2e.Has(t, "a function requires the module", template, "\t"+version)
		e2e.Has(t, "the checksums of the models have the module", sum, version+" h1:")
	}
}
