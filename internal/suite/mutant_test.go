package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/suite"
)

const compositionHead = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec:\n"

// resourceComposition returns a Composition whose only step is Patch & Transform with one
// resource, which has the given fields.
func resourceComposition(fields string) string {
	return compositionHead + "  pipeline:\n  - step: a\n    input:\n      apiVersion: pt.fn.crossplane.io/v1beta1\n      resources:\n" +
		"      - name: r\n        " + fields
}

// templateComposition returns a Composition whose only step has the given inline template.
func templateComposition(text string) string {
	return compositionHead + "  pipeline:\n  - step: a\n    input:\n      apiVersion: gotemplating.fn.crossplane.io/v1beta1\n      inline:\n        template: |\n" +
		"          " + strings.ReplaceAll(text, "\n", "\n          ")
}

// TestMutants compares the mutants that a part of a Composition adds: the line and the operator of
// each, and the first difference of its objects.
func TestMutants(t *testing.T) {
	cases := map[string]struct {
		reason, composition string
		want                []string
	}{
		"Steps": {
			"each step of several can be dropped", compositionHead + "  pipeline: [{step: a}, {step: b}]",
			[]string{`4 drop-step: ~ spec.pipeline[0].step "a" "b"`, `4 drop-step: - spec.pipeline[1].step "b" <nil>`},
		},
		"OneStep":   {"the only step is not dropped", compositionHead + "  pipeline: [{step: a}]", nil},
		"Functions": {"the input of a function without operators is not changed", compositionHead + "  pipeline: [{step: a, input: {apiVersion: example.org/v1, resources: [{name: a}]}}]", nil},
		"Base": {
			"constants in a base change, but not its apiVersion and kind", resourceComposition("base: {apiVersion: v1, kind: K, spec: {a: 1, b: [true, x], c: null}}"),
			[]string{"10 change-base: a 1 2", "10 change-base: b[0] true false", `10 change-base: b[1] "x" "x-mutant"`},
		},
		"Patches": {
			"patches are dropped, their sources swapped, and their policies changed", resourceComposition("patches:\n        - {fromFieldPath: a}\n        - {fromFieldPath: b, policy: {fromFieldPath: Required}}"),
			[]string{
				`11 drop-patch: patches[0].fromFieldPath "a" "b"`, `11 change-policy: patches[0].policy.fromFieldPath <nil> "Required"`,
				`11 swap-paths: patches[0].fromFieldPath "a" "b"`,
				"12 drop-patch: patches[1]", `12 change-policy: patches[1].policy.fromFieldPath "Required" "Optional"`,
			},
		},
		"EqualSources": {
			"equal sources are not swapped", resourceComposition("patches: [{fromFieldPath: a, policy: {toFieldPath: x}}, {fromFieldPath: a}]"),
			[]string{"10 drop-patch", "10 drop-patch", "10 change-policy: policy.fromFieldPath <nil> \"Required\"", "10 change-policy"},
		},
		"Transforms": {
			"each constant of a transform changes",
			resourceComposition("patches:\n        - type: PatchSet\n          transforms:\n          - {type: map, map: {k: 1}}\n          - {type: match, match: {patterns: [{result: a}], fallbackValue: b}}\n          - {type: math, math: {multiply: 2}}\n          - {type: string, string: {fmt: x}}\n          combine: {string: {fmt: z}}"),
			[]string{
				"11 drop-patch", "13 drop-transform", "13 change-map: map.k 1 2", "14 drop-transform", `14 change-match: result "a" "a-mutant"`,
				`14 change-match: fallbackValue "b" "b-mutant"`, "15 drop-transform", "15 change-math: multiply 2 3",
				"16 drop-transform", `16 change-text: fmt "x" "x-mutant"`, `17 change-text: fmt "z" "z-mutant"`,
			},
		},
		"Checks": {
			"readiness checks and connection details are dropped, and what a check expects changes",
			resourceComposition("readinessChecks:\n        - {type: MatchTrue, fieldPath: a}\n        - {type: MatchCondition, matchCondition: {type: Ready, status: 'True'}}\n        connectionDetails: [{name: d}]"),
			[]string{
				"11 drop-check", `11 change-check: type "MatchTrue" "MatchFalse"`, "12 drop-check", "12 change-check: type", "12 change-check: status",
				"13 drop-detail",
			},
		},
		"Template": {
			"in a template, constants outside of actions change, except apiVersion and kind, and conditions are negated",
			templateComposition("apiVersion: v1\nkind: K\n{{ if .a }}\na: 1\n{{- else if eq .a \"b\" -}}\n- \"x\"\n{{ end }}\nb: {{ .b }}\nc: yes"),
			[]string{
				"12 negate-branch: .a → not (.a)", "13 change-literal: 1 → 11", `14 negate-branch: eq .a "b" → not (eq .a "b")`,
				`15 change-literal: "x" → "x-mutant"`, "18 change-literal: yes → yes-mutant",
			},
		},
		"Legacy": {
			"a Composition of mode Resources has its resources in spec, and keeps the only one", compositionHead + "  resources:\n  - base: {kind: K, a: true}",
			[]string{"5 change-base: a true false"},
		},
	}
	guide := e2e.ReadFile(t, "../../docs/how-to/test.md")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := e2e.Must(manifest.Split("c.yaml", []byte(tc.composition)))(t)
			all := e2e.Must(suite.Mutants(docs[0]))(t)
			was := e2e.Must(docs[0].Object())(t)
			var got []string
			for _, m := range all {
				e2e.Has(t, "docs/how-to/test.md lacks an operator", guide, fmt.Sprintf("| `%s` | ", m.Operator))
				if strings.Contains(tc.composition, "- name: r") && m.Operator == "drop-resource" {
					continue // All cases with this resource have this mutant.
				}
				got = append(got, mutantLine(was, m))
			}
			e2e.Equal(t, tc.reason, tc.want, got, cmp.Comparer(isAbbreviated))
		})
	}
}

// mutantLine returns the line, the operator and the first difference of a mutant.
func mutantLine(was map[string]any, m suite.Mutant) string {
	at := fmt.Sprintf("%d %s: ", m.Line, m.Operator)
	if strings.HasSuffix(m.Field, "template") {
		return at + fmt.Sprintf("%v → %v", m.Was, m.Is)
	}
	c := fieldpath.Diff(was, m.Composition())[0]
	return at + fmt.Sprintf("%s %s %s %s", c.Op.Sign(), c.Path, quotedValue(c.Old), quotedValue(c.New))
}

func quotedValue(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

// isAbbreviated reports whether one text has the line and operator of the other, and its end.
func isAbbreviated(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	head, tail, _ := strings.Cut(a, ": ")
	return a == b || strings.HasPrefix(b, head+": ") && strings.Contains(b, tail)
}
