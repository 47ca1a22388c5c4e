package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

// widgets returns a CRD. spec is the schema of its field spec, as YAML in flow style.
func widgets(spec string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.gold.test}
spec:
  group: gold.test
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: ` + spec + `}}}
  - {name: v0, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`
}

func definition(t *testing.T, text string) *schema.Definition {
	t.Helper()
	return e2e.Must(schema.New(e2e.Object(t, text)))(t)
}

// lines returns one line for each fault that is not Unchecked.
func lines(found []schema.Fault) []string {
	all := []string{}
	for _, f := range found {
		if f.Unchecked {
			continue
		}
		all = append(all, f.Field+": "+f.Text)
	}
	return all
}

func TestValidate(t *testing.T) {
	const spec = `
      {type: object, required: [size], properties: {
        size: {type: integer, minimum: 1, maximum: 9},
        unit: {type: string, enum: [m, ft], default: m},
        since: {type: string, format: date-time},
        code: {type: string, pattern: '^[a-z]+$'},
        tags: {type: array, items: {type: string}, x-kubernetes-list-type: set},
        labels: {type: object, additionalProperties: {type: string}},
        any: {type: object, x-kubernetes-preserve-unknown-fields: true},
        maybe: {type: string, nullable: true},
        port: {x-kubernetes-int-or-string: true}},
       x-kubernetes-validations: [{rule: "self.size < 5 || self.unit == 'm'", message: feet are few}]}`
	cases := map[string]struct {
		reason, spec string
		want         []string
	}{
		"Good":     {"a valid object has no faults", `{size: 2, unit: ft, since: "2026-01-02T03:04:05Z", code: ab, tags: [a], labels: {a.b/c: d}, any: {x: [1]}, maybe: null, port: http}`, nil},
		"Unknown":  {"an unknown field is a fault", `{size: 2, sise: 3}`, []string{"spec.sise: unknown field"}},
		"Required": {"a missing required field is a fault", `{}`, []string{"spec.size: is required"}},
		"Type":     {"a value of another type is a fault", `{size: big}`, []string{`spec.size: must be of type integer: "string"`}},
		"Fraction": {"1.5 is not an integer", `{size: 1.5}`, []string{`spec.size: must be of type integer: "number"`}},
		"Enum":     {"a value outside of an enum is a fault", `{size: 2, unit: yd}`, []string{`spec.unit: is "yd": supported values: "m", "ft"`}},
		"Format":   {"known formats are checked", `{size: 2, since: yesterday}`, []string{`spec.since: must be of type date-time: "yesterday"`}},
		"Pattern":  {"patterns are checked", `{size: 2, code: "1"}`, []string{`spec.code: should match '^[a-z]+$'`}},
		"Range":    {"bounds are checked", `{size: 10}`, []string{"spec.size: should be less than or equal to 9"}},
		"Set":      {"a duplicate element of a set is a fault", `{size: 2, tags: [a, a]}`, []string{"spec.tags[1]: occurs twice"}},
		"Map":      {"a map key may contain dots", `{size: 2, labels: {a.b/c: 1}}`, []string{`spec.labels.a.b/c: must be of type string: "integer"`}},
		"CEL":      {"a violated CEL rule has its message", `{size: 6, unit: ft}`, []string{"spec: feet are few"}},
		"Default":  {"defaults are applied", `{size: 6}`, nil},
		"Null":     {"a null is replaced by the default", `{size: 6, unit: null, code: null}`, nil},
	}
	def := definition(t, widgets(spec))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {name: w, labels: {a: b}}}`)
			obj["spec"] = e2e.Object(t, tc.spec)
			before := fmt.Sprint(obj)
			found := e2e.Must(def.Validate(t.Context(), obj, schema.Options{}))(t)
			e2e.Equal(t, tc.reason, append([]string{}, tc.want...), lines(found))
			e2e.Equal(t, "Validate does not change the object", before, fmt.Sprint(obj))
		})
	}
}

// TestValidateLongList validates lists that are long enough to be shortened for validation.
func TestValidateLongList(t *testing.T) {
	cases := map[string]struct {
		reason, a string // the schema of spec.a
		at        int    // the index of element
		element   any
		want      []string
	}{
		"Good":     {"valid elements have no faults", `{type: array, items: {type: number}}`, 7, 1.5, nil},
		"Type":     {"an element of another type is a fault", `{type: array, items: {type: number}}`, 1500, "x", []string{`spec.a[1500]: must be of type number: "string"`}},
		"Object":   {"an object among scalars is a fault", `{type: array, items: {type: number}}`, 1500, map[string]any{}, []string{`spec.a[1500]: must be of type number: "object"`}},
		"Null":     {"a null is a fault unless it is allowed", `{type: array, items: {type: number}}`, 1500, nil, []string{`spec.a[1500]: must be of type number: "null"`}},
		"Nullable": {"a null is valid if the schema allows it", `{type: array, items: {type: number, nullable: true}}`, 1500, nil, nil},
		"Range":    {"the bounds of elements are checked", `{type: array, items: {type: integer, maximum: 9}}`, 1999, int64(10), []string{"spec.a[1999]: should be less than or equal to 9"}},
		"Few":      {"a list has a least length", `{type: array, minItems: 2001, items: {type: integer}}`, 0, int64(1), []string{"spec.a: should have at least 2001 items"}},
		"Enough":   {"a list of the least length is valid", `{type: array, minItems: 2000, items: {type: integer}}`, 0, int64(1), nil},
		"Many":     {"a list has a greatest length", `{type: array, maxItems: 1999, items: {type: integer}}`, 0, int64(1), []string{"spec.a: must have at most 1999 items"}},
		"Set":      {"the elements of a set are compared", `{type: array, x-kubernetes-list-type: set, items: {type: integer}}`, 1999, int64(0), []string{"spec.a[1999]: occurs twice"}},
		"Not":      {"a list may be excluded by what it contains", `{type: array, items: {type: integer}, not: {items: {maximum: 9999}}}`, 0, int64(1), []string{`: "spec.a" must not validate the schema (not)`}},
		"Rule":     {"a rule has all elements", `{type: array, maxItems: 3000, items: {type: integer}, x-kubernetes-validations: [{rule: self.size() < 2000, message: too long}]}`, 0, int64(1), []string{"spec.a: too long"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list := make([]any, 2000)
			for i := range list {
				list[i] = int64(i % 10)
				if strings.Contains(tc.a, "set") {
					list[i] = int64(i)
				}
			}
			list[tc.at] = tc.element
			obj := e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {name: w}}`)
			obj["spec"] = map[string]any{"a": list}
			found := e2e.Must(definition(t, widgets(`{type: object, properties: {a: `+tc.a+`}}`)).Validate(t.Context(), obj, schema.Options{}))(t)
			e2e.Equal(t, tc.reason, append([]string{}, tc.want...), lines(found))
			e2e.Equal(t, tc.reason+": the object was changed", 2000, len(list))
		})
	}
}

func TestValidateSetOfLongLists(t *testing.T) {
	lists := make([]any, 2)
	for i := range lists {
		list := make([]any, 2000)
		for j := range list {
			list[j] = int64(i + j)
		}
		lists[i] = list
	}
	obj := e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {name: w}}`)
	obj["spec"] = map[string]any{"a": lists}
	def := definition(t, widgets(`{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: array, x-kubernetes-list-type: atomic, items: {type: integer}}}}}`))
	if found, err := def.Validate(t.Context(), obj, schema.Options{}); err != nil || len(found) > 0 {
		t.Errorf("different lists can be in a set: got %v, %v", lines(found), err)
	}
}

// TestValidateLongListAllocations shows that the elements of a long list are validated without a
// path and a result for each.
func TestValidateLongListAllocations(t *testing.T) {
	def := definition(t, widgets(`{type: object, properties: {a: {type: array, items: {type: array, items: {type: integer}}}}}`))
	measure := func(n int) float64 {
		list := make([]any, n)
		for i := range list {
			list[i] = int64(i % 10)
		}
		obj := e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {name: w}}`)
		obj["spec"] = map[string]any{"a": []any{list}}
		return testing.AllocsPerRun(3, func() {
			if found, err := def.Validate(t.Context(), obj, schema.Options{}); err != nil || len(found) > 0 {
				t.Fatal(err, found)
			}
		})
	}
	if short, long := measure(2_000), measure(12_000); long-short > 100_000 {
		t.Errorf("10,000 elements more need %.0f allocations", long-short)
	}
}

func TestValidateMetadata(t *testing.T) {
	def := definition(t, widgets(`{type: object}`))
	found := e2e.Must(def.Validate(t.Context(), e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {nam: w}, sepc: {}}`), schema.Options{}))(t)
	e2e.Equal(t, "unknown fields of the object and its metadata are faults", []string{"metadata.nam: unknown field", "sepc: unknown field"}, lines(found))
}

func TestValidateMetadataInWords(t *testing.T) {
	def := definition(t, widgets(`{type: object}`))
	found := e2e.Must(def.Validate(t.Context(), e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {name: w, namespace: yes}}`), schema.Options{}))(t)
	e2e.Equal(t, "the fault has no names of Go types", []string{"metadata.namespace: cannot be a bool"}, lines(found))
}

func TestServes(t *testing.T) {
	def := definition(t, widgets(`{type: object}`))
	for version, want := range map[string]string{"v1": "<nil>", "v0": "version v0: not served", "v2": "version v2 does not exist; the versions are v1, v0"} {
		e2e.Equal(t, fmt.Sprintf("only the served version is valid: %s", version), want, fmt.Sprint(def.Serves(version)))
	}
	e2e.Error(t, "an object of a missing version was validated", e2e.Err(def.Validate(t.Context(), e2e.Object(t, `{apiVersion: gold.test/v2, kind: Widget}`), schema.Options{})))
}

func TestCheck(t *testing.T) {
	const at = "spec.versions[0].schema.openAPIV3Schema.properties.spec"
	cases := map[string]struct {
		reason, spec, want string
	}{
		"Good":      {"a structural schema is valid", `{type: object, properties: {a: {type: string}}}`, ""},
		"NoType":    {"each field requires a type", `{type: object, properties: {a: {}}}`, at + ".properties.a.type: is required"},
		"Default":   {"a default must fit its schema", `{type: object, properties: {a: {type: string, default: 1}}}`, at + ".properties.a.default: must be of type string"},
		"Pruned":    {"a default must not have unknown fields", `{type: object, properties: {a: {type: object, default: {x: 1}}}}`, at + ".properties.a.default"},
		"Structure": {"anyOf must not define fields", `{type: object, properties: {a: {type: string}}, anyOf: [{properties: {a: {type: string}}}]}`, at + ".anyOf[0].properties.a.type"},
		"CEL":       {"a rule must compile", `{type: object, properties: {a: {type: array, items: {type: string, x-kubernetes-validations: [{rule: "self.x > 1"}]}}}}`, at + ".properties.a.items.x-kubernetes-validations[0].rule: compilation failed"},
		"Type":      {"a type must be one of JSON schemas", `{type: object, properties: {a: {type: text}}}`, at + `.properties.a.type: is "text": supported values: "array"`},
		"Pattern":   {"a pattern must compile", `{type: object, properties: {a: {type: string, pattern: "("}}}`, at + ".properties.a.pattern: must be a valid regular"},
		"CELType":   {"a rule must return a boolean", `{type: object, x-kubernetes-validations: [{rule: "1"}]}`, at + ".x-kubernetes-validations[0].rule: "},
		"Cost":      {"a rule that costs too much is an error of an XRD, too", `{type: object, properties: {a: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x == y))"}]}}}`, at + ".properties.a.x-kubernetes-validations[0].rule: estimated rule cost exceeds budget by factor of more than 100x"},
		"NoNumber":  {"a keyword of the wrong type is an error of this keyword", `{type: object, properties: {a: {type: integer, minimum: one}}}`, at + ".properties.a.minimum: must be a number, not a string"},
		"NoObject":  {"a schema must be an object", `{type: object, properties: {a: [1]}}`, at + ".properties.a: must be an object, not a list"},
		"Preserve":  {"a preserved object may have any default", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, ""},
		"Embedded":  {"a default of an embedded object must be an object", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(lines(definition(t, widgets(tc.spec)).Check(t.Context())), "\n")
			e2e.Equal(t, tc.reason, tc.want == "", got == "")
			e2e.Has(t, tc.reason, got, tc.want)
		})
	}
}

func TestUndeclared(t *testing.T) {
	const at = "spec.versions[0].schema.openAPIV3Schema.properties.spec"
	cases := map[string]struct {
		reason, spec, field, nearest string
	}{
		"Declared":  {"a required field that is declared has no fault", `{type: object, required: [a], properties: {a: {type: string}}}`, "", ""},
		"Typo":      {"a required field that is not declared is a fault with the most similar field", `{type: object, required: [regoin], properties: {region: {type: string}}}`, at + ".required[0]", "region"},
		"Format":    {"a format with a misspelled name is a fault", `{type: object, properties: {a: {type: string, format: hostnmae}, b: {type: string, format: date-time}, c: {type: integer, format: int32}, d: {type: string, format: semver}}}`, at + ".properties.a.format", "hostname"},
		"Item":      {"the objects of a list are checked", `{type: object, properties: {l: {type: array, items: {type: object, required: [x]}}}}`, at + ".properties.l.items.required[0]", ""},
		"Preserved": {"an object that keeps unknown fields may require them", `{type: object, required: [x], x-kubernetes-preserve-unknown-fields: true}`, "", ""},
		"Map":       {"a map may require keys", `{type: object, required: [x], additionalProperties: {type: string}}`, "", ""},
		"Embedded":  {"an embedded object has metadata", `{type: object, required: [metadata], x-kubernetes-embedded-resource: true, properties: {a: {type: string}}}`, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var field, nearest string
			for _, f := range definition(t, widgets(tc.spec)).Undeclared() {
				field, nearest = field+f.Field, nearest+f.Nearest
			}
			e2e.Equal(t, tc.reason, tc.field, field)
			e2e.Equal(t, tc.reason, tc.nearest, nearest)
		})
	}
}

func TestUndeclaredColumns(t *testing.T) {
	const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: gold.test, scope: Cluster, names: {kind: A}, versions: [{name: v1, served: true, storage: true,
		additionalPrinterColumns: [{name: A, type: string, jsonPath: %s}], schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}, any: {type: object, x-kubernetes-preserve-unknown-fields: true}, map: {type: object, additionalProperties: {type: string}}}}}}}}]}}`
	for path, want := range map[string]string{
		".spec.size": "", ".spec.any.a.b": "", ".spec.map.a": "", ".metadata.creationTimestamp": "", ".metadata.labels.a": "", `".spec.list[0].x"`: "",
		".spec.sise": "size", ".status.a": "?",
	} {
		got := ""
		for _, f := range definition(t, fmt.Sprintf(crd, path)).Undeclared() {
			if got = f.Nearest; got == "" {
				got = "?"
			}
			e2e.Equal(t, path+": the field of the fault", "spec.versions[0].additionalPrinterColumns[0].jsonPath", f.Field)
		}
		e2e.Equal(t, path+": only an undeclared field is a fault, with the most similar field", want, got)
	}
}

// Crossplane adds the address of a webhook to the CRDs of packages, and the API server's library
// panics for a field below additionalProperties: true.
func TestCheckSpec(t *testing.T) {
	const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: gold.test, scope: Cluster, names: {kind: A}, %s
		versions: [{name: v1, served: true, storage: true, %s schema: {openAPIV3Schema: {type: object, properties: {m: {type: object, additionalProperties: true}}}}}]}}`
	for _, tc := range []struct{ reason, conversion, selectable, want string }{
		{"a conversion may have no address", "conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}},", "", ""},
		{"a field below any value cannot be selected", "", "selectableFields: [{jsonPath: .m.a.b}],", "does not refer to a valid field"},
	} {
		got := strings.Join(lines(definition(t, fmt.Sprintf(crd, tc.conversion, tc.selectable)).Check(t.Context())), "\n")
		if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}

func TestAnyMetadata(t *testing.T) {
	for text, want := range map[string]string{
		`{metadata: {name: a, namespace: ""}}`:         "", // templates print an empty namespace
		`{metadata: {name: a, labels: {tier: "b c"}}}`: "metadata.labels",
	} {
		if got := strings.Join(lines(schema.AnyMetadata(e2e.Object(t, text))), "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestCheckWithoutSchema(t *testing.T) {
	def := definition(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: gold.test, scope: Cluster, names: {kind: A}, versions: [{name: v1, served: true, storage: true}]}}`)
	e2e.Equal(t, "a version without a schema is a fault", []string{"spec.versions[0].schema.openAPIV3Schema: is required: schemas are required"}, lines(def.Check(t.Context())))
	e2e.Error(t, "an object was validated without a schema", e2e.Err(def.Validate(t.Context(), e2e.Object(t, `{apiVersion: gold.test/v1, kind: A}`), schema.Options{})))
}

func TestNewRefuses(t *testing.T) {
	cases := map[string]struct{ reason, object string }{
		"Other":  {"a ConfigMap is not a definition", `{apiVersion: v1, kind: ConfigMap}`},
		"Served": {"served must be a boolean", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [{name: v1, served: "yes"}]}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if def, err := schema.New(e2e.Object(t, tc.object)); err == nil {
				t.Errorf("%s: got %v", tc.reason, def)
			}
		})
	}
}

func TestNearestValue(t *testing.T) {
	def := definition(t, widgets(`{type: object, properties: {unit: {type: string, enum: [metre, "a \"foot\"", mile]}}}`))
	for value, want := range map[string]string{"meter": "metre", `a "food"`: `a "foot"`, "lightyear": ""} {
		obj := map[string]any{"apiVersion": "gold.test/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": map[string]any{"unit": value}}
		found, err := def.Validate(t.Context(), obj, schema.Options{})
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: got %v, %v", value, found, err)
		}
		e2e.Equal(t, fmt.Sprintf("%s: the most similar value", value), want, found[0].Nearest)
	}
}

// TestImmutable checks that a field that cannot change needs no compiled rule for a new object, and
// that its rule still counts.
func TestImmutable(t *testing.T) {
	crd := widgets(`{type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: "self == oldSelf", message: is fixed}]}}}`)
	widget := func(spec string) map[string]any {
		return e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: {name: w, namespace: ns}, spec: `+spec+`}`)
	}
	validate := func(o schema.Options, spec string) (found []schema.Fault) {
		found = e2e.Must(definition(t, crd).Validate(t.Context(), widget(spec), o))(t)
		return found
	}
	update := schema.Options{Old: widget("{size: 1}")}
	e2e.Equal(t, "a new object may have any value", []string{}, lines(validate(schema.Options{}, "{size: 2}")))
	e2e.Equal(t, "an update must not change a fixed field", []string{"spec.size: is fixed"}, lines(validate(update, "{size: 2}")))
	if found := validate(schema.Options{}, "{size: big}"); !found[len(found)-1].Unchecked {
		t.Errorf("got %v, expected a fault that rules were not checked", found)
	}
	created := testing.AllocsPerRun(3, func() { validate(schema.Options{}, "{size: 1}") })
	updated := testing.AllocsPerRun(3, func() { validate(update, "{size: 1}") })
	if created > updated/2 {
		t.Errorf("a new object needed %v allocations, an update %v", created, updated)
	}
}
