package schema_test

import (
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A reference validates custom resources with the same library as the API
// server, without the code under test.
type reference struct {
	props *apiextensions.JSONSchemaProps
	tree  *structural.Structural
}

func newReference(t *testing.T, crd map[string]any) reference {
	t.Helper()
	data, err := json.Marshal(crd)
	e2e.NoError(t, err)
	var typed extv1.CustomResourceDefinition
	e2e.NoError(t, json.Unmarshal(data, &typed))
	r := reference{props: &apiextensions.JSONSchemaProps{}}
	e2e.NoError(t, extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(typed.Spec.Versions[0].Schema.OpenAPIV3Schema, r.props, nil))
	if r.tree, err = structural.NewStructural(r.props); err != nil {
		t.Fatal(err)
	}
	return r
}

// create returns the errors that the API server reports when an object is
// created: unknown fields first, then the errors of validation.
func (r reference) create(t *testing.T, obj map[string]any) []string {
	t.Helper()
	obj = runtime.DeepCopyJSON(obj)
	var all []string
	unknown := pruning.PruneWithOptions(obj, r.tree, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	_, more := objectmeta.CoerceWithOptions(nil, obj, r.tree, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	for _, path := range append(unknown, more...) {
		all = append(all, `unknown field "`+path+`"`)
	}
	defaulting.Default(obj, r.tree)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, r.tree)
	validator, _, err := validation.NewSchemaValidator(r.props)
	e2e.NoError(t, err)
	u := &unstructured.Unstructured{Object: obj}
	var errs field.ErrorList
	errs = append(errs, apivalidation.ValidateObjectMetaAccessor(u, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	errs = append(errs, validation.ValidateCustomResource(nil, obj, validator)...)
	errs = append(errs, objectmeta.Validate(nil, obj, r.tree, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.tree, obj)...)
	blocked := false
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			blocked = true
		}
		all = append(all, err.Error())
	}
	if blocked {
		return append(all, "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")
	}
	broken, _ := cel.NewValidator(r.tree, true, celconfig.PerCallLimit).Validate(t.Context(), nil, r.tree, obj, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range broken {
		all = append(all, err.Error())
	}
	return all
}

// fullTexts returns the complete error texts of the API server for the faults.
func fullTexts(found []schema.Fault) []string {
	var all []string
	for _, f := range found {
		if f.Err == nil {
			all = append(all, f.String())
		} else {
			all = append(all, f.Err.Error())
		}
	}
	return all
}

// TestAgrees compares the faults of Validate with the errors of the API
// server's library, which is called as the API server does it.
func TestAgrees(t *testing.T) {
	const spec = `
      {type: object, required: [size], properties: {
        size: {type: integer, minimum: 1, maximum: 9, multipleOf: 1},
        unit: {type: string, enum: [m, ft], default: m, minLength: 1, maxLength: 3},
        since: {type: string, format: date-time}, at: {type: string, format: ipv4}, sum: {type: integer, format: int32},
        code: {type: string, pattern: '^[a-z]+$'},
        tags: {type: array, maxItems: 3, items: {type: string}, x-kubernetes-list-type: set},
        rules: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, n: {type: integer, default: 1}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]},
        labels: {type: object, maxProperties: 2, additionalProperties: {type: string}},
        either: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]},
        not: {type: string, not: {enum: [bad]}},
        template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true},
        any: {type: object, x-kubernetes-preserve-unknown-fields: true},
        maybe: {type: string, nullable: true}, port: {x-kubernetes-int-or-string: true},
        deep: {type: object, properties: {list: {type: array, items: {type: object, properties: {v: {type: integer, x-kubernetes-validations: [{rule: "self > 2", messageExpression: "'v is ' + string(self)"}]}}}}}},
        frozen: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: is frozen}]}},
       x-kubernetes-validations: [{rule: "self.size < 5 || self.unit == 'm'", message: feet are few, fieldPath: ".unit", reason: FieldValueForbidden}, {rule: "!has(self.labels) || self.labels.all(k, self.labels[k] != '')"}]}`
	crd := e2e.Object(t, widgets(spec))
	reference, def := newReference(t, crd), definition(t, widgets(spec))
	for _, text := range []string{
		`{metadata: {name: w, namespace: ns}, spec: {size: 2}}`,
		`{}`, `{spec: 1, metadata: {name: w}}`, `{metadata: {name: W_1, generateName: -}, spec: null}`, `{metadata: {name: w, namespace: N.n, labels: {"a b": "c d", ok: "-"}, annotations: {"/": x}, finalizers: [a b]}, spec: {size: 1}}`,
		`{metadata: {name: w, nme: x}, sepc: {}, spec: {sise: 1, size: 2, deep: {list: [{v: 3, w: 1}]}}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 0}}`, `{metadata: {name: w, namespace: ns}, spec: {size: 10, unit: yards, since: now, at: 1.2.3, sum: 3000000000, code: "1"}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: "2", unit: 1, tags: {}, labels: []}}`, `{metadata: {name: w, namespace: ns}, spec: {size: 2, tags: [a, a, b, c], labels: {a: b, c: d, e: f}}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 2, tags: [a, b, a], rules: [{name: x}, {name: x, n: 2}, {}]}}`, `{metadata: {name: w, namespace: ns}, spec: {size: 2, rules: [{name: x}, {name: x, n: 2}]}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 2, either: {a: "1", b: "2"}, not: bad}}`, `{metadata: {name: w, namespace: ns}, spec: {size: 2, either: {}}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 2, template: {kind: 1, metadata: {name: A}}, any: {x: [1, null]}, maybe: null, port: 1.5}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 2, template: {apiVersion: v1, kind: Pod, metadata: {name: A_, labels: {"": x}, nme: 1}}}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 7, unit: ft, labels: {a: ""}, deep: {list: [{v: 1}, {v: 3}, {v: 2}]}, frozen: x}}`,
		`{metadata: {name: w, namespace: ns}, spec: {size: 7, unit: ft, code: "1"}}`, `{metadata: {name: w, namespace: ns}, spec: {size: 2, labels: {a.b/c: 1}, since: null, unit: null}}`,
		`{metadata: {name: w, namespace: ns, labels: {a: null}, ownerReferences: [{apiVersion: v1, kind: Event, name: e, uid: u}]}, spec: {size: 2}, status: {x: 1}}`,
	} {
		agree(t, reference, def, text)
	}
}

// TestMetadataWithoutEmbedded compares the faults of metadata for a schema without embedded resources
// with those for a schema that has them, for which the library decodes all metadata.
func TestMetadataWithoutEmbedded(t *testing.T) {
	without := definition(t, widgets(`{type: object}`))
	with := definition(t, widgets(`{type: object, properties: {template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`))
	for _, metadata := range []string{
		`{name: w, namespace: ns, labels: {a: b}, annotations: {c: d}}`, `{generateName: w-, namespace: ns}`,
		`null`, `1`, `[]`, `{}`, `{name: ""}`, `{name: null}`, `{name: 1}`, `{name: {a: b}, namespace: []}`, `{generateName: [w]}`,
		`{name: w, labels: {}}`, `{name: w, labels: null}`, `{name: w, labels: x}`, `{name: w, labels: [a]}`,
		`{name: w, labels: {a: 1}}`, `{name: w, labels: {a: null}}`, `{name: w, annotations: {a: b, c: {d: e}}}`, `{name: w, annotations: {a: true}}`,
		`{name: w, nme: x}`, `{name: w, label: {a: b}}`, `{name: w, uid: 1}`, `{name: w, finalizers: a}`, `{name: w, creationTimestamp: now}`,
		`{name: w, ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, nme: x}]}`,
	} {
		obj := e2e.Object(t, `{apiVersion: gold.test/v1, kind: Widget, metadata: `+metadata+`}`)
		want := e2e.Must(with.Validate(t.Context(), obj, schema.Options{Metadata: true}))(t)
		got := e2e.Must(without.Validate(t.Context(), obj, schema.Options{Metadata: true}))(t)
		e2e.Equal(t, "metadata: "+metadata, fullTexts(want), fullTexts(got))
	}
}

// TestAgreesOnKnownRules compares Validate with the library for the rules that Validate decides itself.
func TestAgreesOnKnownRules(t *testing.T) {
	const names = `type: object, properties: {plural: {type: string}, singular: {type: string}}, x-kubernetes-validations: [
		{rule: "self == oldSelf"}, {rule: "self.plural == self.plural.lowerAscii()"}, {rule: "!has(self.singular) || self.singular == self.singular.lowerAscii()"}]`
	const more = `claimNames: {type: object, properties: {a: {type: string}}}, connectionSecretKeys: {type: array, items: {type: string}}`
	const spec = `{type: object, properties: {
		scope: {type: string}, names: {` + names + `}, ` + more + `,
		strict: {type: object, properties: {` + more + `}, x-kubernetes-validations: [{rule: "!has(self.claimNames)"}, {rule: "!has(self.connectionSecretKeys)"}]},
		list: {type: array, items: {` + names + `}}, map: {type: object, additionalProperties: {` + names + `}},
		other: {type: string, x-kubernetes-validations: [{rule: "self != 'b'"}]},
		again: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", optionalOldSelf: true}]},
		nested: {type: string, allOf: [{x-kubernetes-validations: [{rule: "self != 'b'"}]}]}},
		x-kubernetes-validations: [{rule: "self.scope == 'LegacyCluster' || !has(self.claimNames)"}, {rule: "self.scope == 'LegacyCluster' || !has(self.connectionSecretKeys)"}]}`
	reference, def := newReference(t, e2e.Object(t, widgets(spec))), definition(t, widgets(spec))
	for _, c := range []struct {
		reason, spec string
		decided      bool
	}{
		{"all rules are true", `{scope: Namespaced, names: {plural: a, singular: b}, strict: {}, list: [{plural: a}], map: {x: {plural: a}}}`, true},
		{"optional names are missing", `{names: {plural: a}}`, true},
		{"a null has no rules", `{names: null}`, true},
		{"the library decides for LegacyCluster", `{scope: LegacyCluster, claimNames: {}, connectionSecretKeys: [a]}`, false},
		{"only LegacyCluster has claims", `{scope: Namespaced, claimNames: {}}`, false},
		{"only LegacyCluster has connection secrets", `{scope: Cluster, connectionSecretKeys: []}`, false},
		{"a scope is missing", `{claimNames: {}}`, false},
		{"an XRD of v2 has no claims", `{strict: {claimNames: {}}}`, false},
		{"an XRD of v2 has no connection secrets", `{strict: {connectionSecretKeys: [a]}}`, false},
		{"a plural has an upper-case letter", `{names: {plural: aB}}`, false},
		{"a plural has an upper-case letter that is not ASCII", `{names: {plural: aÉ}}`, false},
		{"a plural is missing", `{names: {singular: a}}`, false},
		{"a singular has an upper-case letter", `{names: {plural: a, singular: B}}`, false},
		{"a rule is in a list", `{list: [{plural: a}, {plural: A}]}`, false},
		{"a rule is in a map", `{map: {x: {plural: a}, y: {plural: A}}}`, false},
		{"a rule is unknown, and true", `{other: a}`, false},
		{"a rule is unknown, and false", `{other: b}`, false},
		{"a rule about the old value also applies to a new one", `{again: a}`, false},
		{"a rule is in allOf", `{nested: b}`, false},
	} {
		text := `{metadata: {name: w, namespace: ns}, spec: ` + c.spec + `}`
		agree(t, reference, def, text)
		e2e.Equal(t, c.reason, c.decided, def.Obeys("v1", e2e.Object(t, text)))
	}
}

// agree compares the faults of Validate with the errors of reference.
func agree(t *testing.T, reference reference, def *schema.Definition, text string) {
	t.Helper()
	obj := e2e.Object(t, text)
	obj["apiVersion"], obj["kind"] = "gold.test/v1", "Widget"
	found := e2e.Must(def.Validate(t.Context(), obj, schema.Options{Metadata: true}))(t)
	// The library returns its errors in random order.
	want, got := reference.create(t, obj), fullTexts(found)
	slices.Sort(want)
	want = slices.Compact(want)
	slices.Sort(got)
	e2e.Equal(t, "the faults are those of the API server: "+text, want, got)
}
