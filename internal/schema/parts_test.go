package schema_test

import "testing"

func TestParts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, spec               string
		defaults, embedded, unique int
	}{
		"None":       {"a schema without defaults, embedded resources and unique elements has no parts", `{type: object, properties: {a: {type: string}, b: {type: array, items: {type: string}}}}`, 0, 0, 0},
		"Default":    {"only the field with a default, the spec and the root are kept", `{type: object, properties: {a: {type: string, default: x}, b: {type: string}}}`, 3, 0, 0},
		"Items":      {"a default of the items of a list is kept", `{type: object, properties: {a: {type: array, items: {type: object, properties: {b: {type: string, default: x}, c: {type: string}}}}}}`, 5, 0, 0},
		"Additional": {"a default in additional properties is kept", `{type: object, additionalProperties: {type: object, properties: {a: {type: string, default: x}}}}`, 4, 0, 0},
		"Embedded":   {"only an embedded resource and its parents are kept", `{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}, b: {type: string, default: x}}}`, 3, 3, 0},
		"Set":        {"a set is kept", `{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`, 0, 0, 3},
		"Map":        {"a list whose keys must differ is kept", `{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}}}`, 0, 0, 3},
		"Atomic":     {"an atomic list may have equal elements", `{type: object, properties: {a: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}}}`, 0, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defaults, embedded, unique := definition(t, widgets(tc.spec)).Parts("v1")
			if defaults != tc.defaults || embedded != tc.embedded || unique != tc.unique {
				t.Errorf("%s: got %d, %d, %d fields, want %d, %d, %d", tc.reason, defaults, embedded, unique, tc.defaults, tc.embedded, tc.unique)
			}
		})
	}
}
