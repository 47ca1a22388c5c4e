package crd_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestJSONSchema(t *testing.T) {
	cases := map[string]struct{ reason, value, want string }{
		"Closed":      {"fields that the API server prunes are rejected", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: false, properties: {a: {type: string}}}`},
		"Open":        {"preserved unknown fields are accepted", `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`},
		"Map":         {"a map accepts any key", `{type: object, additionalProperties: {type: object, properties: {}}}`, `{type: object, additionalProperties: {type: object, properties: {}, additionalProperties: false}}`},
		"IntOrString": {"an int-or-string has a list of types", `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`, `{type: [integer, string]}`},
		"Nullable":    {"a nullable value has the type and enum value null", `{type: string, nullable: true, enum: [a]}`, `{type: [string, "null"], enum: [a, null]}`},
		"Exclusive":   {"an exclusive bound is a number, as in draft-07", `{type: integer, minimum: 1, exclusiveMinimum: true, maximum: 2, exclusiveMaximum: false}`, `{type: integer, exclusiveMinimum: 1, maximum: 2}`},
		"Items":       {"the schema of elements is converted", `{type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}}`, `{type: array, items: {type: [string, "null"]}}`},
		"Rules":       {"CEL rules are removed", `{type: string, x-kubernetes-validations: [{rule: "true"}]}`, `{type: string}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := definition(t, "", tc.value)
			s := d.Versions[0].JSONSchema("example.json")
			if s["$id"] != "example.json" || s["$schema"] == nil {
				t.Errorf("got id %v of %v", s["$id"], s["$schema"])
			}
			spec := s["properties"].(map[string]any)["spec"].(map[string]any)
			got := e2e.Must(json.Marshal(spec["properties"].(map[string]any)["value"]))(t)
			want := e2e.Must(yaml.YAMLToJSON([]byte(tc.want)))(t)
			if string(got) != string(want) {
				t.Errorf("%s: got %s, want %s", tc.reason, got, want)
			}
			if again, _ := json.Marshal(d.Versions[0].JSONSchema("example.json")); len(again) == 0 {
				t.Error("the conversion changed the definition")
			}
		})
	}
}
