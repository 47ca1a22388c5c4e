package suite_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite"
)

// newGenerator returns a Generator for an XRD whose schema of spec is JSON.
func newGenerator(t *testing.T, spec string, seed uint64) *suite.Generator {
	t.Helper()
	docs, err := manifest.Split("xrd.yaml", fmt.Appendf(nil, fuzzXRD, spec))
	e2e.NoError(t, err)
	return e2e.Must(suite.NewGenerator(t.Context(), docs[0], "example.org/v1", seed))(t)
}

// TestGenerator checks that a hundred resources of each schema are valid, that the same seed makes the
// same resources, and that some resource has each of some values.
func TestGenerator(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, spec string
		want         []string // parts of the JSON of some resource
	}{
		"Boundaries": {
			"numbers, lists and strings have the limits of their schemas",
			`{type: object, required: [num, s], properties: {num: {type: integer, minimum: 3, maximum: 9}, s: {type: string, minLength: 2, maxLength: 5}, l: {type: array, maxItems: 2, items: {type: boolean}}}}`,
			[]string{`"num":3`, `"num":9`, `"s":"ab"`, `"s":"us-ea"`, `"l":[]`, `true`, `false`},
		},
		"Enum": {
			"each value of an enum occurs, and optional fields are present and absent",
			`{type: object, properties: {size: {type: string, enum: [small, large]}, on: {type: boolean}}}`,
			[]string{`small`, `large`, `"spec":{}`},
		},
		"Pattern":     {"strings match their patterns", `{type: object, required: [id], properties: {id: {type: string, pattern: '^(vpc|sub)-[0-9a-f]{8}$'}}}`, []string{"vpc-", "sub-"}},
		"LongPattern": {"a pattern and the limits of the length hold together", `{type: object, required: [id], properties: {id: {type: string, minLength: 30, maxLength: 40, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$'}}}`, nil},
		"Format":      {"strings have their formats", `{type: object, required: [ip], properties: {ip: {type: string, format: ipv4}}}`, []string{"10.1.2.3"}},
		"Rule": {
			"CEL rules between fields hold", `{type: object, required: [low, high, mode], x-kubernetes-validations: [{rule: "self.low < self.high"}, {rule: "self.mode != 'fixed' || has(self.size)"}],
    properties: {low: {type: integer}, high: {type: integer}, mode: {type: string}, size: {type: integer}}}`,
			[]string{`"mode":"fixed"`},
		},
		"OneOf":   {"exactly one of several fields is set", `{type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}`, []string{`"a"`, `"b"`}},
		"Map":     {"maps have keys, and values by their schema", `{type: object, properties: {tags: {type: object, minProperties: 1, additionalProperties: {type: integer, multipleOf: 5}}}}`, []string{`"tags":{"`}},
		"Set":     {"a set has no element twice", `{type: object, properties: {s: {type: array, minItems: 2, x-kubernetes-list-type: set, items: {type: string, maxLength: 3}}}}`, nil},
		"IntOr":   {"an integer or a string is both", `{type: object, required: [p], properties: {p: {x-kubernetes-int-or-string: true}}}`, []string{`"p":"`, `"p":1`}},
		"Unknown": {"an object without a schema has a key", `{type: object, required: [o], properties: {o: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`, []string{`"key":"value"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, other := newGenerator(t, tc.spec, 1), newGenerator(t, tc.spec, 1)
			var all strings.Builder
			for n := range 100 {
				xr := e2e.Must(g.XR(t.Context(), n))(t)
				if faults := g.Faults(t.Context(), xr); len(faults) > 0 {
					t.Fatalf("%s: %v is invalid: %s", tc.reason, xr, faults[0])
				}
				if same, err := other.XR(t.Context(), n); err != nil || !reflect.DeepEqual(xr, same) {
					t.Errorf("%s: the same seed makes %v and %v: %v", tc.reason, xr, same, err)
				}
				text := e2e.Must(json.Marshal(xr))(t)
				all.Write(text)
			}
			for _, want := range tc.want {
				e2e.Has(t, tc.reason, all.String(), want)
			}
		})
	}
}

// TestNoInput checks that the error for a schema without values names the field.
func TestNoInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, spec, field string }{
		"Range":   {"no number is in an empty range", `{type: object, required: [num], properties: {num: {type: integer, minimum: 5, maximum: 4}}}`, "spec.num"},
		"Rule":    {"no value satisfies a rule that is always false", `{type: object, required: [a], properties: {a: {type: object, x-kubernetes-validations: [{rule: "false"}]}}}`, "spec.a"},
		"Pattern": {"no text matches a pattern and is shorter than the pattern demands", `{type: object, required: [s], properties: {s: {type: string, maxLength: 2, pattern: '^abc$'}}}`, "spec.s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newGenerator(t, tc.spec, 1).XR(t.Context(), 0)
			e2e.ErrorIs(t, tc.reason, err, suite.ErrNoInput)
			e2e.ErrorHas(t, tc.reason, err, "field "+tc.field+":")
		})
	}
}

func TestShrink(t *testing.T) {
	t.Parallel()
	g := newGenerator(t, `{type: object, required: [num], properties: {num: {type: integer, minimum: 2}, tags: {type: array, items: {type: string}}, other: {type: string}}}`, 1)
	xr := map[string]any{
		"apiVersion": "example.org/v1", "kind": "XThing", "metadata": map[string]any{"name": "long", "namespace": "default"},
		"spec": map[string]any{"num": int64(900), "other": "x", "tags": []any{"a", "bad: yes", "c"}},
	}
	text, err := json.Marshal(g.Shrink(t.Context(), xr, func(xr map[string]any) bool {
		text, err := json.Marshal(xr)
		return err == nil && strings.Contains(string(text), ": ")
	}))
	e2e.NoError(t, err)
	want := `{"apiVersion":"example.org/v1","kind":"XThing","metadata":{"name":"xr","namespace":"default"},"spec":{"num":2,"tags":[": "]}}`
	e2e.Equal(t, "the generated resource has only required fields", want, string(text))
}
