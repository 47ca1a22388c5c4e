package crd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// definition reads a CRD whose one version has a schema for spec.value.
func definition(t *testing.T, spec, value string) crd.Definition {
	t.Helper()
	text := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.org, scope: Cluster, names: {kind: Input, plural: inputs}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {value: ` + value + `}}}}}}]}}`
	obj, err := manifest.Document{Text: []byte(text)}.Object()
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte("{"+spec+"}"), ptr(obj["spec"].(map[string]any))); err != nil {
		t.Fatal(err)
	}
	d, err := crd.Read(obj)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func ptr[T any](v T) *T { return &v }

// one is a change by its rule and place; "!" says that it breaks something.
func one(c crd.Change) string {
	text := c.Rule + " " + c.Path
	if c.Breaking {
		text = "!" + text
	}
	return strings.TrimSpace(text)
}

func TestCompareSchemas(t *testing.T) {
	const at = " spec.value"
	cases := map[string]struct {
		reason   string
		from, to string
		want     []string
	}{
		"Same":                {"nothing has changed", `{type: string}`, `{type: string}`, nil},
		"Description":         {"what people read breaks nothing", `{type: string, description: a}`, `{type: string, description: b}`, nil},
		"FieldRemoved":        {"its value would be pruned", `{type: object, properties: {a: {type: string}}}`, `{type: object}`, []string{"!field-removed spec.value.a"}},
		"FieldRemovedButKept": {"unknown fields are kept", `{type: object, properties: {a: {type: string}}}`, `{type: object, x-kubernetes-preserve-unknown-fields: true}`, []string{"unknown-fields-kept" + at, "field-removed spec.value.a"}},
		"FieldBecomesKey":     {"a map takes it as it was", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: {type: string}}`, nil},
		"FieldBecomesOtherKey": {
			"a map takes it if its value is right", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: {type: integer}}`,
			[]string{"!type-changed spec.value.a"},
		},
		"FieldAdded":         {"nobody has it yet", `{type: object}`, `{type: object, properties: {a: {type: string}}}`, []string{"field-added spec.value.a"}},
		"FieldAddedRequired": {"nobody gives it yet", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string}}}`, []string{"!field-required spec.value.a", "field-added spec.value.a"}},
		"FieldAddedRequiredWithDefault": {
			"the API server gives it", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string, default: x}}}`,
			[]string{"field-added spec.value.a"},
		},
		"FieldAddedInNewObject": {
			"who has not the object need not give its fields", `{type: object}`, `{type: object, properties: {a: {type: object, required: [b], properties: {b: {type: string}}}}}`,
			[]string{"field-added spec.value.a"},
		},
		"FieldNamedWhereAnyWas": {
			"what was of any type is not any more", `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
			`{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`,
			[]string{"!field-added spec.value.a"},
		},
		"DefaultOfRequiredGone": {
			"it has to be given now", `{type: object, required: [a], properties: {a: {type: string, default: x}}}`, `{type: object, required: [a], properties: {a: {type: string}}}`,
			[]string{"!field-required spec.value.a", "default-changed spec.value.a"},
		},
		"Optional":       {"less is asked", `{type: object, required: [a], properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`, []string{"field-optional spec.value.a"}},
		"TypeChanged":    {"no text is a number", `{type: string}`, `{type: integer}`, []string{"!type-changed" + at}},
		"TypeWidened":    {"each integer is a number", `{type: integer}`, `{type: number}`, []string{"type-changed" + at}},
		"TypeNarrowed":   {"not each number is an integer", `{type: number}`, `{type: integer}`, []string{"!type-changed" + at}},
		"IntOrString":    {"each integer is an integer or string", `{type: integer}`, `{x-kubernetes-int-or-string: true}`, []string{"type-changed" + at}},
		"NotIntOrString": {"a string may be there", `{x-kubernetes-int-or-string: true}`, `{type: integer}`, []string{"!type-changed" + at}},
		"NullRefused":    {"null may be there", `{type: string, nullable: true}`, `{type: string}`, []string{"!null-refused" + at}},
		"Embedded":       {"it had not to be an object of Kubernetes", `{type: object}`, `{type: object, x-kubernetes-embedded-resource: true}`, []string{"!resource-required" + at}},
		"EnumNarrowed":   {"a value is not allowed any more", `{type: string, enum: [a, b]}`, `{type: string, enum: [b, c]}`, []string{"!enum-narrowed" + at, "enum-widened" + at}},
		"EnumAdded":      {"any value was allowed", `{type: string}`, `{type: string, enum: [a]}`, []string{"!enum-added" + at}},
		"EnumRemoved":    {"any value is allowed", `{type: string, enum: [a]}`, `{type: string}`, []string{"enum-removed" + at}},
		"MinimumRaised":  {"lower values are there", `{type: integer, minimum: 1}`, `{type: integer, minimum: 2}`, []string{"!bound-changed" + at}},
		"MinimumLowered": {"more is allowed", `{type: integer, minimum: 2}`, `{type: integer, minimum: 1}`, []string{"bound-changed" + at}},
		"MinimumZero":    {"negative values are there", `{type: integer}`, `{type: integer, minimum: 0}`, []string{"!bound-changed" + at}},
		"MinLengthZero":  {"no text is shorter", `{type: string}`, `{type: string, minLength: 0}`, []string{"bound-changed" + at}},
		"MaxLength":      {"longer values are there", `{type: string}`, `{type: string, maxLength: 5}`, []string{"!bound-changed" + at}},
		"MaxRaised":      {"more is allowed", `{type: integer, maximum: 5}`, `{type: integer, maximum: 5.5}`, []string{"bound-changed" + at}},
		"MaxGone":        {"more is allowed", `{type: array, maxItems: 5}`, `{type: array}`, []string{"bound-changed" + at}},
		"Exclusive":      {"the bound itself is there", `{type: integer, minimum: 1}`, `{type: integer, minimum: 1, exclusiveMinimum: true}`, []string{"!bound-changed" + at}},
		"Multiple":       {"each multiple of 4 is one of 2", `{type: integer, multipleOf: 4}`, `{type: integer, multipleOf: 2}`, []string{"multipleOf-changed" + at}},
		"OtherMultiple":  {"not each multiple of 2 is one of 4", `{type: integer, multipleOf: 2}`, `{type: integer, multipleOf: 4}`, []string{"!multipleOf-changed" + at}},
		"Pattern":        {"other texts are there", `{type: string, pattern: a}`, `{type: string, pattern: b}`, []string{"!pattern-changed" + at}},
		"PatternGone":    {"more is allowed", `{type: string, pattern: a}`, `{type: string}`, []string{"pattern-changed" + at}},
		"Format":         {"other texts are there", `{type: string}`, `{type: string, format: ipv4}`, []string{"!format-changed" + at}},
		"Closed":         {"keys of any name are there", `{type: object, additionalProperties: {type: string}}`, `{type: object}`, []string{"!additional-properties-closed" + at}},
		"UnknownDropped": {"unknown fields are there", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object}`, []string{"!unknown-fields-dropped" + at}},
		"MapValues":      {"values of maps are compared", `{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: integer}}`, []string{"!type-changed spec.value[*]"}},
		"Items":          {"elements of lists are compared", `{type: array, items: {type: object, properties: {a: {type: string}}}}`, `{type: array, items: {type: object, properties: {a: {type: boolean}}}}`, []string{"!type-changed spec.value[*].a"}},
		"Set":            {"the same value may be there twice", `{type: array, items: {type: string}}`, `{type: array, x-kubernetes-list-type: set, items: {type: string}}`, []string{"!list-type-changed" + at}},
		"AtomicSaid":     {"a list is atomic unless said otherwise", `{type: array}`, `{type: array, x-kubernetes-list-type: atomic}`, nil},
		"MapType":        {"who owns which field changes", `{type: object}`, `{type: object, x-kubernetes-map-type: atomic}`, []string{"map-type-changed" + at}},
		"RuleAdded":      {"what breaks the rule is there", `{type: string}`, `{type: string, x-kubernetes-validations: [{rule: "self == ''", message: a}]}`, []string{"!rule-added" + at}},
		"RuleMessage":    {"what people read breaks nothing", `{type: string, x-kubernetes-validations: [{rule: "self == ''", message: a}]}`, `{type: string, x-kubernetes-validations: [{rule: "self == ''", message: b}]}`, nil},
		"RuleRemoved":    {"more is allowed", `{type: string, x-kubernetes-validations: [{rule: "self == ''"}]}`, `{type: string}`, []string{"rule-removed" + at}},
		"AllOfMore":      {"more is asked", `{type: string}`, `{type: string, allOf: [{pattern: a}]}`, []string{"!alternatives-changed" + at}},
		"AllOfLess":      {"less is asked", `{type: string, allOf: [{pattern: a}]}`, `{type: string}`, []string{"alternatives-changed" + at}},
		"AnyOfMore":      {"one more way to be right", `{type: string, anyOf: [{pattern: a}]}`, `{type: string, anyOf: [{pattern: a}, {pattern: b}]}`, []string{"alternatives-changed" + at}},
		"AnyOfFirst":     {"any was right", `{type: string}`, `{type: string, anyOf: [{pattern: a}]}`, []string{"!alternatives-changed" + at}},
		"OneOfMore":      {"two may be true now", `{type: string, oneOf: [{pattern: a}]}`, `{type: string, oneOf: [{pattern: a}, {pattern: b}]}`, []string{"!alternatives-changed" + at}},
		"Not":            {"something is refused", `{type: string}`, `{type: string, not: {pattern: a}}`, []string{"!alternatives-changed" + at}},
		"Default":        {"nothing is refused, but it differs", `{type: string, default: a}`, `{type: string, default: b}`, []string{"default-changed" + at}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes := crd.Compare(definition(t, "", tc.from), definition(t, "", tc.to))
			var got []string
			for _, c := range changes {
				got = append(got, one(c))
				if c.Version != "v1" || c.Text == "" {
					t.Errorf("the change has no version or text: %+v", c)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCompareKinds(t *testing.T) {
	const v1 = `{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`
	cases := map[string]struct {
		reason   string
		from, to string
		want     []string
	}{
		"Names":      {"who uses the kind does not find it", "", `group: a.org, scope: Namespaced, names: {kind: B, plural: bs}`, []string{"!group-changed", "!kind-changed", "!plural-changed", "!scope-changed"}},
		"Removed":    {"who uses the version does not find it", `versions: [` + v1 + `, {name: v2, served: true}]`, `versions: [` + v1 + `]`, []string{"!version-removed"}},
		"Unserved":   {"who uses the version does not find it", `versions: [` + v1 + `, {name: v2, served: true}]`, `versions: [` + v1 + `, {name: v2, served: false}]`, []string{"!version-not-served"}},
		"NotServed":  {"nobody could use it, and nothing is stored in it", `versions: [` + v1 + `, {name: v2, served: false}]`, `versions: [` + v1 + `]`, []string{"version-removed"}},
		"Added":      {"a version more", `versions: [` + v1 + `]`, `versions: [` + v1 + `, {name: v2, served: true, deprecated: true}]`, []string{"version-added"}},
		"Served":     {"a version more", `versions: [` + v1 + `, {name: v2}]`, `versions: [` + v1 + `, {name: v2, served: true, deprecated: true}]`, []string{"version-served", "version-deprecated"}},
		"Storage":    {"stored objects stay readable", `versions: [` + v1 + `, {name: v2, served: true}]`, `versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, storage: true}]`, []string{"storage-version-changed"}},
		"Claims":     {"new claims", "", `claimNames: {kind: C, plural: cs}`, []string{"claim-added"}},
		"NoClaims":   {"claims exist", `claimNames: {kind: C, plural: cs}`, "", []string{"!claim-removed"}},
		"ClaimNames": {"claims exist", `claimNames: {kind: C, plural: cs}`, `claimNames: {kind: C, plural: ces}`, []string{"!claim-changed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range crd.Compare(definition(t, tc.from, "{}"), definition(t, tc.to, "{}")) {
				if c.Version == "" {
					got = append(got, one(c))
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The deepest levels are not compared, and what changes there counts as
// breaking.
func TestCompareDepth(t *testing.T) {
	nest := func(leaf string) string {
		return strings.Repeat("{type: array, items: ", 300) + leaf + strings.Repeat("}", 300)
	}
	got := crd.Compare(definition(t, "", nest("{type: string}")), definition(t, "", nest("{type: integer}")))
	if len(got) != 1 || got[0].Rule != "schema-too-deep" || !got[0].Breaking {
		t.Errorf("got %d changes, want that it is too deep", len(got))
	}
}

func TestRead(t *testing.T) {
	schema := `{openAPIV3Schema: {type: object, properties: {a: {type: string}}}}`
	cases := map[string]struct {
		reason, text, want, err string
	}{
		"V1beta1": {
			"one schema and one version for all", `{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, spec: {group: g, scope: Cluster, version: v1, names: {kind: K, plural: ks}, validation: ` + schema + `}}`,
			`{"group":"g","kind":"K","plural":"ks","scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true}]}`, "",
		},
		"XRDv1": {
			"an XRD of v1 without a scope is a legacy one", `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: C, plural: cs}, versions: [{name: v1, served: true, referenceable: true}]}}`,
			`{"group":"g","kind":"K","plural":"ks","scope":"LegacyCluster","claim":"C","versions":[{"name":"v1","served":true,"storage":true}]}`, "",
		},
		"XRDv2": {
			"an XRD of v2 without a scope is namespaced", `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, spec: {group: g, names: {kind: K, plural: ks}, versions: [{name: v1}]}}`,
			`{"group":"g","kind":"K","plural":"ks","scope":"Namespaced","versions":[{"name":"v1","served":false,"storage":false}]}`, "",
		},
		"Other":     {"a Secret defines nothing", `{apiVersion: v1, kind: Secret}`, "", "got Secret"},
		"NoGroup":   {"what cannot be named cannot be compared", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: [1]}`, "", "the group is missing"},
		"NoKind":    {"what cannot be named cannot be compared", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, names: 3}}`, "", "the kind is missing"},
		"NoVersion": {"what cannot be named cannot be compared", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, names: {kind: K}, versions: x}}`, "", "the versions are missing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj, err := manifest.Document{Text: []byte(tc.text)}.Object()
			if err != nil {
				t.Fatal(err)
			}
			d, err := crd.Read(obj)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			raw, _ := yaml.Marshal(d)
			want, _ := yaml.JSONToYAML([]byte(tc.want))
			if err != nil || string(raw) != string(want) {
				t.Errorf("%s: got %s, %v, want %s", tc.reason, raw, err, want)
			}
		})
	}
}

func TestGenerateErrors(t *testing.T) {
	const xrd = `apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition`
	for text, want := range map[string]string{
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, versions: [{name: v1}]}}`:                                                                               "v1 has no schema",
		`{` + xrd + `, spec: {group: g, names: {kind: K}, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}}`:                                                            "the plural of K is missing",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: K, plural: cs}, versions: [{name: v1, schema: {openAPIV3Schema: {a: b}}}]}}`:         "claims must not have the kind or plural",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: C}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}}`:             "the plural of C is missing",
		`{` + xrd + `, spec: {group: g, names: {kind: K, plural: ks}, claimNames: {kind: C, plural: ks}, versions: [{name: v1, schema: {openAPIV3Schema: {type: string}}}]}}`: "claims must not have the kind or plural",
	} {
		obj, err := manifest.Document{Text: []byte(text)}.Object()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := crd.Generate(obj); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Whatever a stranger's definition holds, it is compared with what it was
// without a crash, and is the same as itself.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"g","names":{"kind":"K"},"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":{"required":[1,"a"],"enum":[{}],"properties":{"a":{"default":[]}}}}}]}}`), []byte(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"CompositeResourceDefinition","spec":{"group":"g","names":{"kind":"K","plural":"k","categories":[1]},"claimNames":{"kind":"C","plural":"c"},"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":{"required":"a","minimum":"1","not":{},"properties":{"spec":{"properties":{"a":1}}}}}}]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		from, ok := definitionOf(a)
		to, ok2 := definitionOf(b)
		if !ok || !ok2 {
			return
		}
		if changes := crd.Compare(from, from); len(changes) > 0 {
			t.Errorf("a definition differs from itself: %+v", changes)
		}
		for _, c := range crd.Compare(from, to) {
			if c.Rule == "" || c.Text == "" {
				t.Errorf("a change without a text: %+v", c)
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
