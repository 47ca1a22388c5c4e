package generate_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

const composition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: a}\nspec: {compositeTypeRef: {apiVersion: example.org/v1, kind: Other}, mode: Pipeline, pipeline: []}\n"

// schemaOf generates an XRD from an XR in SimpleSchema, and returns its text.
func schemaOf(t *testing.T, text string) (string, error) {
	t.Helper()
	dir := e2e.Dir(t, map[string]string{project.File: crossplane, "schema.yaml": "apiVersion: example.org/v1\nkind: App\n" + text})
	path, err := generate.XRD(t.Context(), open(t, filepath.Join(dir, project.File)), "schema.yaml", generate.XRDOptions{SimpleSchema: true})
	if err != nil {
		return "", err
	}
	return e2e.ReadFile(t, path), nil
}

func TestSimpleSchema(t *testing.T) {
	got := e2e.Must(schemaOf(t, `spec:
  name: string | required=true immutable=true description="My \"name\""
  mode: string | enum="a, b" default="a"
  replicas: integer | default=3 minimum=1 | maximum=10
  price: float | minimum=0.5 default=1.5
  email: string | pattern="^\\w+\.[a-z|]{2,}$" minLength=3
  tags: '[]string | uniqueItems=true minItems=1 default=["x", "y"]'
  owner: Person
  labels: map[string][]string | printColumn=LABELS
  values: object
  more: {enabled: boolean | default=true}
status:
  url: https://${service.host}
  arn: ${cluster.arn}
  ready: boolean | printColumn="READY" validation="self || true"
customTypes:
  Person: {id: string | required=true}
additionalPrinterColumns:
- {name: Mode, type: string, jsonPath: .spec.mode}
`))(t)
	want := `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata:
  name: apps.example.org
spec:
  group: example.org
  names:
    categories:
    - crossplane
    kind: App
    plural: apps
  scope: Namespaced
  versions:
  - additionalPrinterColumns:
    - jsonPath: .spec.mode
      name: Mode
      type: string
    - jsonPath: .spec.labels
      name: LABELS
      type: string
    - jsonPath: .status.ready
      name: READY
      type: boolean
    name: v1
    referenceable: true
    schema:
      openAPIV3Schema:
        description: App is the Schema for the App API.
        properties:
          spec:
            properties:
              email:
                minLength: 3
                pattern: ^\w+\.[a-z|]{2,}$
                type: string
              labels:
                additionalProperties:
                  items:
                    type: string
                  type: array
                type: object
              mode:
                default: a
                enum:
                - a
                - b
                type: string
              more:
                default: {}
                properties:
                  enabled:
                    default: true
                    type: boolean
                type: object
              name:
                description: My "name"
                type: string
                x-kubernetes-validations:
                - message: field is immutable
                  rule: self == oldSelf
              owner:
                properties:
                  id:
                    type: string
                required:
                - id
                type: object
              price:
                default: 1.5
                minimum: 0.5
                type: number
              replicas:
                default: 3
                maximum: 10
                minimum: 1
                type: integer
              tags:
                default:
                - x
                - "y"
                items:
                  type: string
                minItems: 1
                type: array
                x-kubernetes-list-type: set
              values:
                type: object
                x-kubernetes-preserve-unknown-fields: true
            required:
            - name
            type: object
          status:
            properties:
              arn:
                x-kubernetes-preserve-unknown-fields: true
              ready:
                type: boolean
                x-kubernetes-validations:
                - message: validation failed
                  rule: self || true
              url:
                type: string
            type: object
        required:
        - spec
        type: object
    served: true
`
	e2e.Equal(t, "each marker of the schema is converted", want, got)
}

func TestSimpleSchemaRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want string }{
		"Type":    {"an unknown type is not guessed", "spec: {a: {b: strin}}", `schema.yaml:3: spec.a.b has the unknown type "strin", expected one of string,`},
		"Marker":  {"a misspelled marker has the name that was meant", "spec: {a: string | defualt=x}", `spec.a: unknown marker "defualt": is it default?`},
		"Default": {"a default has the type of the field", "spec: {a: integer | default=x}", `spec.a: marker default: "x" is not a value of type integer`},
		"Number":  {"a default in quotes is a string", `spec: {a: 'integer | default="[1]"'}`, "schema.yaml:3: spec.a: "},
		"Object":  {"an object is not a default of a string in a list", "spec:\n  b: string\n  a: '[]string | default=[{\"x\": 1}]'", "schema.yaml:5: spec.a: "},
		"Least":   {"a default must not be below the minimum", "spec: {a: integer | default=1 minimum=2}", "should be greater than or equal to 2"},
		"Enum":    {"a default is one of the allowed values", "spec:\n  o: {a: string | default=c enum=\"a,b\"}", `schema.yaml:4: spec.o.a: `},
		"Rule":    {"a rule is an expression in CEL", "spec: {a: string | validation=\"self ==\"}", "schema.yaml:3: spec.a: "},
		"Columns": {"a column cannot have the values of a list", "spec: {a: '[]A'}\ncustomTypes: {A: {b: string | printColumn=B}}", "schema.yaml:3: spec.a[].b: marker printColumn: a column has one value"},
		"Limit":   {"a limit is a number", "spec: {a: integer | minimum=x}", `marker minimum: "x" is not`},
		"Syntax":  {"a marker has a value", "spec: {a: string | required}", `spec.a: expected markers such as default=1, got "required"`},
		"Quote":   {"a quote is closed", `spec: {a: 'string | default="x'}`, "has no closing quote"},
		"Value":   {"a field has a type", "spec: {a: 1}", "spec.a is 1, expected a type"},
		"Cycle":   {"types cannot contain themselves", "spec: {a: A}\ncustomTypes: {A: {b: '[]A'}}", `spec.a.b[] has the type "A", which contains itself`},
		"Unused":  {"a custom type is checked although no field has it", "spec: {a: string}\ncustomTypes: {A: {b: strin}}", `schema.yaml:4: customTypes.A.b has the unknown type "strin", expected one of string,`},
		"Itself":  {"a custom type that no field has cannot contain itself", "spec: {a: string}\ncustomTypes: {A: {b: '[]A'}}", `schema.yaml:4: customTypes.A.b[] has the type "A", which contains itself`},
		"Alias":   {"a custom type with the name of another type needs that type", "spec: {a: string}\ncustomTypes: {A: strin}", `schema.yaml:4: customTypes.A has the unknown type "strin", expected one of string,`},
		"NoSpec":  {"an XR has a spec", "status: {}", "schema.yaml:1: spec is missing: expected an XR with an apiVersion"},
		"Printer": {"a printer column has a type", "spec: {a: string}\nadditionalPrinterColumns: [{name: A, jsonPath: .spec.a}]", "the XRD would be invalid: spec.versions[0].additionalPrinterColumns[0].type: "},
	} {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(schemaOf(t, tc.text)), tc.want)
		})
	}
}

func TestXRDRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want string }{
		"Kind":    {"names of fields are case-sensitive", "apiVersion: example.org/v1\nKind: App\nmetadata: {name: a}\nspec: {}\n", "xr.yaml:2: Kind: there is no such field in an XR: is it kind?"},
		"Spec":    {"a spec may be misspelled", "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspce: {}\n", "xr.yaml:4: spce: there is no such field in an XR: is it spec?"},
		"Data":    {"an XR has no other fields than spec and status", "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspec: {}\ndata: {a: 1}\n", "xr.yaml:5: data: Crossplane keeps only spec and status"},
		"Group":   {"the group of an XR is not empty", "kind: App\napiVersion: v1alpha1\nmetadata: {name: a}\nspec: {}\n", `xr.yaml:2: apiVersion: expected a group and a version, such as example.org/v1, got "v1alpha1"`},
		"Version": {"an apiVersion has two parts", "apiVersion: example.org/v1/v2\nkind: App\nmetadata: {name: a}\nspec: {}\n", "xr.yaml:1: apiVersion: expected a group and a version"},
		"List":    {"a spec is an object", "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspec: [{size: 1}]\n", "xr.yaml:4: spec: expected an object, got a list"},
		"Null":    {"a spec without fields has a value", "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspec:\n", "xr.yaml:4: spec: expected an object, got nothing"},
		"Name":    {"the name of an XR is in its metadata", "apiVersion: example.org/v1\nkind: App\nmetadata: {}\nname: a\nspec: {}\n", "xr.yaml:3: metadata.name is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{project.File: crossplane, "xr.yaml": tc.text})
			e2e.ErrorHas(t, tc.reason, e2e.Err(generate.XRD(t.Context(), open(t, filepath.Join(dir, project.File)), "xr.yaml", generate.XRDOptions{})), tc.want)
		})
	}
}

// The plurals are those of crossplane xrd generate.
func TestXRDPlural(t *testing.T) {
	for kind, plural := range map[string]string{
		"AppCredentials": "appcredentials", "Redis": "redis", "Settings": "settings",
		"AccessPolicy": "accesspolicies", "Analysis": "analyses", "Bus": "buses", "DNS": "dnses",
		"HostAlias": "hostaliases", "XPerson": "xpersons", "XStatus": "xstatuses",
		"AppPerson": "apppeople", "Person": "people", "Index": "indices", "XIndex": "xindexes", "Matrix": "matrices",
		"Video": "videoes", "Photo": "photos", "Database": "databases", "Premium": "premia", "Album": "albums", "Media": "media", "Leaf": "leaves",
		"Lambda": "lambda", "Cache": "caches", "Quiz": "quizzes", "S3Bucket": "s3buckets", "GPUs": "gpus", "ID": "ids", "Series": "series",
	} {
		t.Run(kind, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{project.File: crossplane, "xr.yaml": "apiVersion: example.org/v1\nkind: " + kind + "\nmetadata: {name: a}\nspec: {a: b}\n"})
			path := e2e.Must(generate.XRD(t.Context(), open(t, filepath.Join(dir, project.File)), "xr.yaml", generate.XRDOptions{}))(t)
			e2e.Equal(t, "the directory has the plural name", plural, filepath.Base(filepath.Dir(path)))
		})
	}
}

// An invalid example does not replace an XRD.
func TestXRDKeeps(t *testing.T) {
	const xr = "apiVersion: platform.example.org/v1\nkind: App\nmetadata: {name: a}\n"
	for name, tc := range map[string]struct{ reason, text, want string }{
		"Version":      {"a version is a name", strings.Replace(xr, "/v1", "/1.0", 1) + "spec: {a: 1}\n", `xr.yaml:1: apiVersion: "1.0" is not a version`},
		"Twice":        {"of a key that is set twice, only one value would count", xr + "spec: {a: 1}\nspec: {b: 1}\n", "xr.yaml:5: "},
		"SimpleSchema": {"types with markers are not values", xr + "spec:\n  a: string | required=true\n  b: integer\n", "xr.yaml:4: the values of spec are types in SimpleSchema"},
		"Names":        {"the names of types may be values", xr + "spec: {a: string, b: integer}\n", ""},
		"Text":         {"a text may contain a bar", xr + "spec: {a: string, b: cat x | sort}\n", ""},
	} {
		dir := e2e.Dir(t, map[string]string{project.File: crossplane, "xr.yaml": tc.text, "apis/x.yaml": xrd})
		_, err := generate.XRD(t.Context(), open(t, filepath.Join(dir, project.File)), "xr.yaml", generate.XRDOptions{Replace: true})
		if tc.want != "" {
			e2e.ErrorHas(t, name+": "+tc.reason, err, tc.want)
			e2e.Equal(t, "the existing XRD is not changed", xrd, e2e.ReadFile(t, filepath.Join(dir, "apis/x.yaml")))
		} else {
			e2e.WantError(t, fmt.Sprintf("%s: %s", name, tc.reason), err, "")
		}
	}
}

// An XRD is replaced in its own file, unless the file has other objects.
func TestReplaceXRD(t *testing.T) {
	const xr = "apiVersion: platform.example.org/v1\nkind: App\nmetadata: {name: a}\nspec: {count: 1}\n"
	for name, tc := range map[string]struct {
		reason    string
		existing  map[string]string
		options   generate.XRDOptions
		path, err string
	}{
		"Replaced": {"the existing file gets the new XRD", map[string]string{"apis/x.yaml": xrd}, generate.XRDOptions{Replace: true}, "apis/x.yaml", ""},
		"Path":     {"the file of another object is replaced if it is named", map[string]string{"apis/x.yaml": composition}, generate.XRDOptions{Replace: true, Path: "x.yaml"}, "apis/x.yaml", ""},
		"Exists":   {"a second XRD for the kind is not written", map[string]string{"apis/x.yaml": xrd}, generate.XRDOptions{Path: "new.yaml"}, "", "x.yaml:1 already defines kind App"},
		"Other":    {"an XRD is not replaced by one in another file", map[string]string{"apis/x.yaml": xrd}, generate.XRDOptions{Replace: true, Path: "new.yaml"}, "", "x.yaml:1 already defines kind App"},
		"More":     {"other objects are not lost", map[string]string{"apis/x.yaml": xrd + "---\n" + composition}, generate.XRDOptions{Replace: true}, "", "has other objects than the XRD"},
		"File":     {"a file is not replaced by accident", map[string]string{"apis/apps/definition.yaml": composition}, generate.XRDOptions{}, "", "already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.existing[project.File], tc.existing["xr.yaml"] = crossplane, xr
			dir := e2e.Dir(t, tc.existing)
			path, err := generate.XRD(t.Context(), open(t, filepath.Join(dir, project.File)), "xr.yaml", tc.options)
			switch {
			case tc.err != "":
				e2e.ErrorHas(t, tc.reason, err, tc.err)
			case err != nil || path != filepath.Join(dir, tc.path):
				t.Errorf("%s: got %q, %v", tc.reason, path, err)
			case !strings.Contains(e2e.ReadFile(t, path), "count:"):
				t.Errorf("%s: got\n%s", tc.reason, e2e.ReadFile(t, path))
			}
		})
	}
}
