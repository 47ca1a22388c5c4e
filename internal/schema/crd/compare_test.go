package crd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// definition reads a CRD with one version. value is the schema of spec.value,
// and spec has the keywords of the schema of spec.
func definition(t *testing.T, spec, value string) crd.Definition {
	t.Helper()
	text := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.org, scope: Cluster, names: {kind: Input, plural: inputs}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {value: ` + value + `}}}}}}]}}`
	obj := e2e.Object(t, text)
	e2e.NoError(t, yaml.Unmarshal([]byte("{"+spec+"}"), ptr(obj["spec"].(map[string]any))))
	return e2e.Must(crd.Read(obj))(t)
}

func ptr[T any](v T) *T { return &v }

// ruleAndPath returns the rule and the path of a change, followed by "!" if the
// change is breaking.
func ruleAndPath(c crd.Change) string {
	text := c.Rule + " " + c.Path
	if c.Breaking {
		text = "!" + text
	}
	return strings.TrimSpace(text)
}

func TestCompareSchemas(t *testing.T) {
	const at = " spec.value"
	cases := map[string]struct {
		reason, from, to string
		want             []string
	}{
		"Same":                {"equal schemas have no changes", `{type: string}`, `{type: string}`, nil},
		"Description":         {"a description is not compared", `{type: string, description: a}`, `{type: string, description: b}`, nil},
		"FieldRemoved":        {"a removed field is pruned, which is breaking", `{type: object, properties: {a: {type: string}}}`, `{type: object}`, []string{"!field-removed spec.value.a"}},
		"FieldRemovedButKept": {"a removed field is not breaking if unknown fields are kept", `{type: object, properties: {a: {type: string}}}`, `{type: object, x-kubernetes-preserve-unknown-fields: true}`, []string{"unknown-fields-kept" + at, "field-removed spec.value.a"}},
		"FieldBecomesKey":     {"a field of a map with the same type of values is unchanged", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: {type: string}}`, nil},
		"FieldBecomesOtherKey": {
			"a field of a map with another type of values has a new type", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: {type: integer}}`,
			[]string{"!type-changed spec.value.a"},
		},
		"FieldAdded":         {"a new optional field is not breaking", `{type: object}`, `{type: object, properties: {a: {type: string}}}`, []string{"field-added spec.value.a"}},
		"FieldAddedRequired": {"a new required field is breaking", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string}}}`, []string{"!field-required spec.value.a", "field-added spec.value.a"}},
		"FieldAddedRequiredWithDefault": {
			"a new required field with a default is not breaking", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string, default: x}}}`,
			[]string{"field-added spec.value.a"},
		},
		"FieldAddedInNewObject": {
			"a required field in a new optional object is not breaking", `{type: object}`, `{type: object, properties: {a: {type: object, required: [b], properties: {b: {type: string}}}}}`,
			[]string{"field-added spec.value.a"},
		},
		"FieldNamedWhereAnyWas": {
			"a new field that restricts unknown fields is breaking", `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
			`{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`,
			[]string{"!field-added spec.value.a"},
		},
		"DefaultOfRequiredGone": {
			"a required field that loses its default is breaking", `{type: object, required: [a], properties: {a: {type: string, default: x}}}`, `{type: object, required: [a], properties: {a: {type: string}}}`,
			[]string{"!field-required spec.value.a", "default-changed spec.value.a"},
		},
		"Optional":       {"a field that becomes optional is not breaking", `{type: object, required: [a], properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`, []string{"field-optional spec.value.a"}},
		"TypeChanged":    {"another type is breaking", `{type: string}`, `{type: integer}`, []string{"!type-changed" + at}},
		"TypeWidened":    {"an integer that becomes a number is not breaking", `{type: integer}`, `{type: number}`, []string{"type-changed" + at}},
		"TypeNarrowed":   {"a number that becomes an integer is breaking", `{type: number}`, `{type: integer}`, []string{"!type-changed" + at}},
		"IntOrString":    {"an integer that becomes an int-or-string is not breaking", `{type: integer}`, `{x-kubernetes-int-or-string: true}`, []string{"type-changed" + at}},
		"NotIntOrString": {"an int-or-string that becomes an integer is breaking", `{x-kubernetes-int-or-string: true}`, `{type: integer}`, []string{"!type-changed" + at}},
		"NullRefused":    {"a nullable value that rejects null is breaking", `{type: string, nullable: true}`, `{type: string}`, []string{"!null-refused" + at}},
		"Embedded":       {"an object that must be a Kubernetes object is breaking", `{type: object}`, `{type: object, x-kubernetes-embedded-resource: true}`, []string{"!resource-required" + at}},
		"EnumNarrowed":   {"a removed enum value is breaking, an added one is not", `{type: string, enum: [a, b]}`, `{type: string, enum: [b, c]}`, []string{"!enum-narrowed" + at, "enum-widened" + at}},
		"EnumAdded":      {"a new enum is breaking", `{type: string}`, `{type: string, enum: [a]}`, []string{"!enum-added" + at}},
		"EnumRemoved":    {"a removed enum is not breaking", `{type: string, enum: [a]}`, `{type: string}`, []string{"enum-removed" + at}},
		"MinimumRaised":  {"a higher minimum is breaking", `{type: integer, minimum: 1}`, `{type: integer, minimum: 2}`, []string{"!bound-changed" + at}},
		"MinimumLowered": {"a lower minimum is not breaking", `{type: integer, minimum: 2}`, `{type: integer, minimum: 1}`, []string{"bound-changed" + at}},
		"MinimumZero":    {"a new minimum of 0 is breaking", `{type: integer}`, `{type: integer, minimum: 0}`, []string{"!bound-changed" + at}},
		"MinLengthZero":  {"a minimum length of 0 is not breaking", `{type: string}`, `{type: string, minLength: 0}`, []string{"bound-changed" + at}},
		"MaxLength":      {"a new maximum length is breaking", `{type: string}`, `{type: string, maxLength: 5}`, []string{"!bound-changed" + at}},
		"MaxRaised":      {"a higher maximum is not breaking", `{type: integer, maximum: 5}`, `{type: integer, maximum: 5.5}`, []string{"bound-changed" + at}},
		"MaxGone":        {"a removed maximum is not breaking", `{type: array, maxItems: 5}`, `{type: array}`, []string{"bound-changed" + at}},
		"Exclusive":      {"a bound that becomes exclusive is breaking", `{type: integer, minimum: 1}`, `{type: integer, minimum: 1, exclusiveMinimum: true}`, []string{"!bound-changed" + at}},
		"Multiple":       {"a multipleOf that divides the previous one is not breaking", `{type: integer, multipleOf: 4}`, `{type: integer, multipleOf: 2}`, []string{"multipleOf-changed" + at}},
		"OtherMultiple":  {"a multipleOf that does not divide the previous one is breaking", `{type: integer, multipleOf: 2}`, `{type: integer, multipleOf: 4}`, []string{"!multipleOf-changed" + at}},
		"Pattern":        {"another pattern is breaking", `{type: string, pattern: a}`, `{type: string, pattern: b}`, []string{"!pattern-changed" + at}},
		"PatternGone":    {"a removed pattern is not breaking", `{type: string, pattern: a}`, `{type: string}`, []string{"pattern-changed" + at}},
		"Format":         {"a new format is breaking", `{type: string}`, `{type: string, format: ipv4}`, []string{"!format-changed" + at}},
		"Closed":         {"a map that rejects unknown keys is breaking", `{type: object, additionalProperties: {type: string}}`, `{type: object}`, []string{"!additional-properties-closed" + at}},
		"UnknownDropped": {"unknown fields that are no longer kept are breaking", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object}`, []string{"!unknown-fields-dropped" + at}},
		"MapValues":      {"values of maps are compared", `{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: integer}}`, []string{"!type-changed spec.value[*]"}},
		"Items":          {"elements of lists are compared", `{type: array, items: {type: object, properties: {a: {type: string}}}}`, `{type: array, items: {type: object, properties: {a: {type: boolean}}}}`, []string{"!type-changed spec.value[*].a"}},
		"Set":            {"a list that becomes a set is breaking", `{type: array, items: {type: string}}`, `{type: array, x-kubernetes-list-type: set, items: {type: string}}`, []string{"!list-type-changed" + at}},
		"AtomicSaid":     {"the default list type is atomic", `{type: array}`, `{type: array, x-kubernetes-list-type: atomic}`, nil},
		"MapType":        {"another map type is not breaking", `{type: object}`, `{type: object, x-kubernetes-map-type: atomic}`, []string{"map-type-changed" + at}},
		"RuleAdded":      {"a new CEL rule is breaking", `{type: string}`, `{type: string, x-kubernetes-validations: [{rule: "self == ''", message: a}]}`, []string{"!rule-added" + at}},
		"RuleMessage":    {"the message of a CEL rule is not compared", `{type: string, x-kubernetes-validations: [{rule: "self == ''", message: a}]}`, `{type: string, x-kubernetes-validations: [{rule: "self == ''", message: b}]}`, nil},
		"RuleRemoved":    {"a removed CEL rule is not breaking", `{type: string, x-kubernetes-validations: [{rule: "self == ''"}]}`, `{type: string}`, []string{"rule-removed" + at}},
		"AllOfMore":      {"a new schema in allOf is breaking", `{type: string}`, `{type: string, allOf: [{pattern: a}]}`, []string{"!alternatives-changed" + at}},
		"AllOfLess":      {"a removed schema in allOf is not breaking", `{type: string, allOf: [{pattern: a}]}`, `{type: string}`, []string{"alternatives-changed" + at}},
		"AnyOfMore":      {"a new schema in an existing anyOf is not breaking", `{type: string, anyOf: [{pattern: a}]}`, `{type: string, anyOf: [{pattern: a}, {pattern: b}]}`, []string{"alternatives-changed" + at}},
		"AnyOfFirst":     {"a new anyOf is breaking", `{type: string}`, `{type: string, anyOf: [{pattern: a}]}`, []string{"!alternatives-changed" + at}},
		"OneOfMore":      {"a new schema in oneOf is breaking", `{type: string, oneOf: [{pattern: a}]}`, `{type: string, oneOf: [{pattern: a}, {pattern: b}]}`, []string{"!alternatives-changed" + at}},
		"Not":            {"a new not is breaking", `{type: string}`, `{type: string, not: {pattern: a}}`, []string{"!alternatives-changed" + at}},
		"Default":        {"another default is a change that is not breaking", `{type: string, default: a}`, `{type: string, default: b}`, []string{"default-changed" + at}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes := crd.Compare(definition(t, "", tc.from), definition(t, "", tc.to))
			var got []string
			for _, c := range changes {
				got = append(got, ruleAndPath(c))
				if c.Version != "v1" || c.Text == "" {
					t.Errorf("the change has no version or text: %+v", c)
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestCompareKinds(t *testing.T) {
	const v1 = `{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`
	cases := map[string]struct {
		reason, from, to string
		want             []string
	}{
		"Names":      {"another group, kind, plural or scope is breaking", "", `group: a.org, scope: Namespaced, names: {kind: B, plural: bs}`, []string{"!group-changed", "!kind-changed", "!plural-changed", "!scope-changed"}},
		"Removed":    {"a removed served version is breaking", `versions: [` + v1 + `, {name: v2, served: true}]`, `versions: [` + v1 + `]`, []string{"!version-removed"}},
		"Unserved":   {"a version that is no longer served is breaking", `versions: [` + v1 + `, {name: v2, served: true}]`, `versions: [` + v1 + `, {name: v2, served: false}]`, []string{"!version-not-served"}},
		"NotServed":  {"a removed version that was not served is not breaking", `versions: [` + v1 + `, {name: v2, served: false}]`, `versions: [` + v1 + `]`, []string{"version-removed"}},
		"Added":      {"a new version is not breaking", `versions: [` + v1 + `]`, `versions: [` + v1 + `, {name: v2, served: true, deprecated: true}]`, []string{"version-added"}},
		"Served":     {"a newly served version is not breaking", `versions: [` + v1 + `, {name: v2}]`, `versions: [` + v1 + `, {name: v2, served: true, deprecated: true}]`, []string{"version-served", "version-deprecated"}},
		"Storage":    {"another storage version is not breaking", `versions: [` + v1 + `, {name: v2, served: true}]`, `versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, storage: true}]`, []string{"storage-version-changed"}},
		"Claims":     {"new claims are not breaking", "", `claimNames: {kind: C, plural: cs}`, []string{"claim-added"}},
		"NoClaims":   {"removed claims are breaking", `claimNames: {kind: C, plural: cs}`, "", []string{"!claim-removed"}},
		"ClaimNames": {"another plural of claims is breaking", `claimNames: {kind: C, plural: cs}`, `claimNames: {kind: C, plural: ces}`, []string{"!claim-changed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range crd.Compare(definition(t, tc.from, "{}"), definition(t, tc.to, "{}")) {
				if c.Version == "" {
					got = append(got, ruleAndPath(c))
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got, cmpopts.EquateEmpty())
		})
	}
}

// TestCompareDepth checks that a change below the maximum depth is breaking.
func TestCompareDepth(t *testing.T) {
	nest := func(leaf string) string {
		return strings.Repeat("{type: array, items: ", 300) + leaf + strings.Repeat("}", 300)
	}
	got := crd.Compare(definition(t, "", nest("{type: string}")), definition(t, "", nest("{type: integer}")))
	if len(got) != 1 || got[0].Rule != "schema-too-deep" || !got[0].Breaking {
		t.Errorf("got %d changes, want one schema-too-deep", len(got))
	}
}

func TestRead(t *testing.T) {
	schema := `{openAPIV3Schema: {type: object, properties: {a: {type: string}}}}`
	cases := map[string]struct {
		reason, text, want, err string
	}{
		"V1beta1": {
			"the schema and version of a v1beta1 CRD are read", `{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, spec: {group: g, scope: Cluster, version: v1, names: {kind: K, plural: ks}, validation: ` + schema + `}}`,
			`{"group":"g","kind":"K","plural":"ks","scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true}]}`, "",
		},
		"XRDv1": {
			"a v1 XRD without a scope has scope LegacyCluster", `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: C, plural: cs}, versions: [{name: v1, served: true, referenceable: true}]}}`,
			`{"group":"g","kind":"K","plural":"ks","scope":"LegacyCluster","claim":"C","versions":[{"name":"v1","served":true,"storage":true}]}`, "",
		},
		"XRDv2": {
			"a v2 XRD without a scope is namespaced", `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, spec: {group: g, names: {kind: K, plural: ks}, versions: [{name: v1}]}}`,
			`{"group":"g","kind":"K","plural":"ks","scope":"Namespaced","versions":[{"name":"v1","served":false,"storage":false}]}`, "",
		},
		"Other":     {"a Secret is not a definition", `{apiVersion: v1, kind: Secret}`, "", "got Secret"},
		"NoGroup":   {"a definition must have a group", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {}}`, "", "spec.group is missing"},
		"NoKind":    {"a definition must have a kind", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, names: {plural: ks}}}`, "", "spec.names.kind is missing"},
		"List":      {"a list is not the spec", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: [1]}`, "", "spec must be an object"},
		"Names":     {"a number has no names", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, names: 3}}`, "", "spec.names must be an object"},
		"Group":     {"a number is not a group", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: 5}}`, "", "spec.group must be a string"},
		"Null":      {"a null is not a group", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: null}}`, "", "spec.group is empty"},
		"NoVersion": {"a definition must have versions", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, names: {kind: K}, versions: x}}`, "", "spec.versions must be a list, not a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := e2e.Object(t, tc.text)
			d, err := crd.Read(obj)
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.err)
				return
			}
			raw, _ := yaml.Marshal(d)
			want, _ := yaml.JSONToYAML([]byte(tc.want))
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, string(want), string(raw))
		})
	}
}

func TestGenerateErrors(t *testing.T) {
	const xrd = `apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition`
	for text, want := range map[string]string{
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, versions: [{name: v1, schema: {type: object, properties: {spec: {}}}}]}}`:                               "v1 has no schema: add openAPIV3Schema, and indent type, properties and the other fields below it",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, versions: [{name: v1}]}}`:                                                                               "v1 has no schema",
		`{` + xrd + `, spec: {group: g, names: {kind: K}, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}}`:                                                            "the plural of K is missing",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: K, plural: cs}, versions: [{name: v1, schema: {openAPIV3Schema: {a: b}}}]}}`:         "claims must not have the kind or plural",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: C}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}}`:             "the plural of C is missing",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: C, plural: ks}, versions: [{name: v1, schema: {openAPIV3Schema: {type: string}}}]}}`: "claims must not have the kind or plural",
	} {
		obj := e2e.Object(t, text)
		e2e.ErrorHas(t, "no CRD is generated from "+text, e2e.Err(crd.Generate(obj)), want)
	}
}

// FuzzCompare checks that Compare does not panic for any two definitions, and
// returns no changes between equal definitions.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"g","names":{"kind":"K"},"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":{"required":[1,"a"],"enum":[{}],"properties":{"a":{"default":[]}}}}}]}}`), []byte(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"CompositeResourceDefinition","spec":{"group":"g","names":{"kind":"K","plural":"k","categories":[1]},"claimNames":{"kind":"C","plural":"c"},"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":{"required":"a","minimum":"1","not":{},"properties":{"spec":{"properties":{"a":1}}}}}}]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		from, ok := definitionOf(a)
		to, ok2 := definitionOf(b)
		if !ok || !ok2 {
			return
		}
		if changes := crd.Compare(from, from); len(changes) > 0 {
			t.Errorf("a definition is not equal to itself: %+v", changes)
		}
		for _, c := range crd.Compare(from, to) {
			if c.Rule == "" || c.Text == "" {
				t.Errorf("a change has no rule or text: %+v", c)
			}
		}
	})
}

func definitionOf(text []byte) (crd.Definition, bool) {
	obj, err := manifest.Document{Text: text}.Object()
	if err != nil || !crd.Defines(obj) {
		return crd.Definition{}, false
	}
	d, err := crd.Read(obj)
	if err == nil && crd.IsXRD(obj) {
		_, _ = crd.Generate(obj)
	}
	return d, err == nil
}
