package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

// TestChecked lists the fields of two composed resources that an expectation checks.
func TestChecked(t *testing.T) {
	t.Parallel()
	composed := func(name, text string) map[string]any {
		obj := map[string]any{}
		e2e.NoError(t, json.Unmarshal([]byte(text), &obj))
		obj["apiVersion"], obj["kind"] = "example.org/v1", "Kind"
		obj["metadata"] = map[string]any{"name": name + "-1", "annotations": map[string]any{"crossplane.io/composition-resource-name": name}}
		return obj
	}
	const all = "spec.a.b spec.a.c spec.l[*] spec.l[*].x spec.t[e.org/k]"
	fields := []string{"spec.a.b", "spec.a.c", "spec.l[*]", "spec.l[*].x", "spec.t[e.org/k]"}
	for name, tc := range map[string]struct{ reason, expect, want string }{
		"Nothing":      {"a case without expectations checks no field", `{}`, ""},
		"Value":        {"a value of a field", `{resources: {one: {spec.a.b: 1}}}`, "spec.a.b"},
		"Parent":       {"a value of a parent is compared with all that is below", `{resources: {one: {spec.a: {equals: {b: 1, c: 2}}}}}`, "spec.a.b spec.a.c"},
		"ParentIn":     {"one of several values is compared as a whole", `{resources: {one: {spec.a: {in: [{b: 1}]}}}}`, "spec.a.b spec.a.c"},
		"ParentExists": {"a parent exists whatever is below", `{resources: {one: {spec.a: {exists: true}}}}`, ""},
		"LeafExists":   {"the existence of a field checks it", `{resources: {one: {spec.a.b: {exists: true}}}}`, "spec.a.b"},
		"Length":       {"a length does not depend on what is in the elements", `{resources: {one: {"spec.l": {length: 2}}}}`, ""},
		"Index":        {"one element stands for all", `{resources: {one: {"spec.l[0].x": 1}}}`, "spec.l[*].x"},
		"Prefix":       {"a field is not below another whose name it begins with", `{resources: {one: {spec.a: {equals: 1}, spec.tt: 1}}}`, "spec.a.b spec.a.c"},
		"MatcherCEL":   {"an expression about a parent can check all that is below", `{resources: {one: {spec.a: {cel: self.b == 1}}}}`, "spec.a.b spec.a.c"},
		"CEL":          {"an expression checks the fields that it names", `{cel: resources.one.spec.a.c == 1}`, "spec.a.c"},
		"Other":        {"an expectation of another resource", `{resources: {two: {spec.a: 1}}}`, ""},
		"Golden":       {"a golden file has all fields", `{golden: out.yaml}`, all},
		"GoldenOne":    {"a golden file of a resource has all of its fields", `{golden: {resources: {one: one.yaml}}}`, all},
		"Object":       {"an object checks its own fields, and its lists must be equal", `{objects: {apiVersion: example.org/v1, kind: Kind, metadata: {name: one-1}, spec: {a: {b: 1}, l: [{x: 1}], t: {e.org/k: 1}}}}`, "spec.a.b spec.l[*] spec.l[*].x spec.t[e.org/k]"},
		"ObjectNone":   {"an object that is not composed", `{objects: {apiVersion: example.org/v1, kind: Kind, metadata: {name: three}, spec: {a: {b: 1}}}}`, ""},
		"FieldValue":   {"an assertion compares a value", `{assertions: {type: FieldValue, resource: Kind/one-*, field: spec.a, operator: "==", value: x}}`, "spec.a.b spec.a.c"},
		"FieldExists":  {"an assertion of the existence or type checks the field alone", `{assertions: [{type: FieldExists, resource: Kind, field: spec.a.b}, {type: FieldType, resource: Kind, field: spec.a, value: object}]}`, "spec.a.b"},
		"Count":        {"a number of resources does not depend on fields", `{assertions: {type: Count, resource: Kind, value: 2}}`, ""},
		"Diff":         {"a difference of a resource checks all of its fields", `{assertions: {type: Diff, resource: Kind/one-1, expected: one.yaml}}`, all},
		"DyffAll":      {"a difference of the whole output checks all fields", `{assertions: {type: Dyff, expected: all.yaml}}`, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := composed("one", `{"spec": {"a": {"b": 1, "c": 2}, "l": [{"x": 1}], "t": {"e.org/k": 1}}}`), composed("two", `{"spec": {"a": {"b": 1}}}`)
			s := &check.Subject{XR: map[string]any{"kind": "XR"}, Composed: []map[string]any{one, two}, Documents: []map[string]any{one, two}}
			checked := check.Checker{Expressions: &check.Env{}}.Checked(form(t, tc.expect), s)
			var got []string
			for _, path := range fields {
				if checked("one", path) {
					got = append(got, path)
				}
			}
			e2e.Equal(t, tc.reason, strings.Fields(tc.want), append([]string{}, got...))
		})
	}
}
