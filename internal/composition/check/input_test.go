package check_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// fork returns a Composition in which another function has the input of
// function-patch-and-transform.
func fork(name, text string) string {
	return strings.Replace(text, "name: function-patch-and-transform", "name: "+name, 1)
}

// TestInputKinds tests inputs whose apiVersion or kind belongs to no function, or to another
// function.
func TestInputKinds(t *testing.T) {
	const at = "spec.pipeline[0].input."
	const condition = "  resources:\n  - name: a\n    condition: x\n    base: {apiVersion: gold.test/v1, kind: Bucket}\n"
	odd := func(old, now string) string { return strings.Replace(pipeline(condition), old, now, 1) }
	step := func(function, input string) string {
		return head + "  mode: Pipeline\n  pipeline:\n  - step: compose\n    functionRef: {name: " + function + "}\n    input:\n      " + strings.ReplaceAll(input, "\n", "\n      ") + "\n"
	}
	const unknown = "15 " + at + "resources[0].condition: InvalidInput: function-patch-and-transform has no such field and rejects its input"
	const perhaps = "15 " + at + `resources[0].condition: warning: OtherFunction: function-patch-and-transform has no such field and rejects its input (unless the function "acme-render" has other rules)`
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Version":   {"another version is an error, and the fields are checked", odd("pt.fn.crossplane.io/v1beta1", "pt.fn.crossplane.io/v1beta9"), []string{"11 " + at + `apiVersion: WrongInputKind: the apiVersion of inputs of function-patch-and-transform is pt.fn.crossplane.io/v1beta1, got "pt.fn.crossplane.io/v1beta9"`, unknown}},
		"Kind":      {"another kind is an error, and the fields are checked", odd("kind: Resources", "kind: Resorces"), []string{"12 " + at + `kind: WrongInputKind: the kind of inputs of function-patch-and-transform is Resources, got "Resorces"`, unknown}},
		"Untyped":   {"an input without a type is left to the schema of Compositions", step("function-auto-ready", "ttl: 1m"), nil},
		"NoKind":    {"an input without a kind is an error", step("function-auto-ready", "apiVersion: autoready.fn.crossplane.io/v1beta1"), []string{"10 " + at + `kind: WrongInputKind: the kind of inputs of function-auto-ready is Input, got ""`}},
		"Installed": {"the name that the package manager gives to an official function is known", step("crossplane-contrib-function-go-templating", "apiVersion: gotemplating.fn.crossplane.io/v1beta1\nkind: GoTemplates\nsource: Inline\ninlin: {}"), []string{"12 " + at + `kind: WrongInputKind: the kind of inputs of function-go-templating is GoTemplate, got "GoTemplates"`, "14 " + at + "inlin: InvalidInput: function-go-templating has no such field and rejects its input, did you mean inline?"}},
		"XRPath": {"a path in the composite resource must be in its schema, unless another source is named", step("function-tag-manager", "apiVersion: tag-manager.fn.crossplane.io/v1beta1\nkind: ManagedTags\naddTags:\n- {type: FromCompositeFieldPath, fromFieldPath: spec.mapp}\n- {type: FromCompositeFieldPath, fromFieldPath: spec.map}\n- {type: FromEnvironmentFieldPath, fromFieldPath: other}"), []string{
			"14 " + at + "addTags[0].fromFieldPath: warning: NoSuchField: kind XWidget of gold.test/v1 has no field spec.mapp, did you mean spec.map?",
			"16 " + at + `addTags[2].fromFieldPath: warning: OutOfOrder: no step before step "compose" gives it an environment: add a step of function-environment-configs before it`,
		}},
		"LabelPath": {"a label of a selector reads the composite resource by default", step("function-environment-configs", "apiVersion: environmentconfigs.fn.crossplane.io/v1beta1\nkind: Input\nspec:\n  environmentConfigs:\n  - type: Selector\n    selector: {matchLabels: [{key: a, valueFromFieldPath: spec.txt}, {key: b, type: Value, value: c}]}"), []string{
			"16 " + at + "spec.environmentConfigs[0].selector.matchLabels[0].valueFromFieldPath: warning: NoSuchField: kind XWidget of gold.test/v1 has no field spec.txt, did you mean spec.text?",
		}},
		"Pattern": {"a regular expression must compile, in lists of texts too", step("function-sequencer", "apiVersion: sequencer.fn.crossplane.io/v1beta1\nkind: Input\nrules:\n- sequence: [a, 'b-.*', 'c(']"), []string{
			"14 " + at + "rules[0].sequence[2]: InvalidInput: function-sequencer cannot compile the regular expression: error parsing regexp: missing closing ): `c(`",
		}},
		"Status": {"no condition has a status in lower case", pipeline("  resources:\n  - name: a\n    readinessChecks:\n    - {type: MatchCondition, matchCondition: {type: Ready, status: 'true'}}\n"), []string{
			"16 " + at + `resources[0].readinessChecks[0].matchCondition.status: warning: IgnoredValue: unknown status "true", expected True or False or Unknown: function-patch-and-transform reports no error, but no condition has this status, did you mean True?`,
		}},
		"Fork":        {"another function may have more fields in the same kind", fork("acme-render", pipeline(condition)), []string{perhaps}},
		"ForkVersion": {"another function may have more versions of the same kind", fork("acme-render", odd("v1beta1", "v2")), []string{"11 " + at + `apiVersion: warning: OtherFunction: the apiVersion of inputs of function-patch-and-transform is pt.fn.crossplane.io/v1beta1, got "pt.fn.crossplane.io/v2" (unless the function "acme-render" has other rules)`, perhaps}},
		"Schema":      {"an input is validated against the schema of its kind, and needs no metadata", step("acme-render", "apiVersion: gold.test/v1\nkind: Input\nspec: {texts: a, count: b}"), []string{"13 " + at + `spec.count: InvalidInput: must be of type integer: "string"`, "13 " + at + "spec.texts: InvalidInput: unknown field, did you mean text?"}},
		"OldSchema":   {"the version of an input must be in its schema", step("acme-render", "apiVersion: gold.test/v9\nkind: Input"), []string{"11 " + at + "apiVersion: WrongInputKind: Input of gold.test: version v9 does not exist; the versions are v1"}},
	}
	inputs := definitions(t, bucket, xrd, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: inputs.gold.test}\nspec:\n  group: gold.test\n  scope: Namespaced\n  names: {kind: Input, plural: inputs}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, required: [metadata], properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}, spec: {type: object, properties: {text: {type: string}, count: {type: integer}}}}}}\n")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lines(check.Composition(t.Context(), entry(t, tc.text), options(inputs.Definition, check.Warn)))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestInputKindsQuiet tests inputs of a function that reports an invalid input only in a condition.
func TestInputKindsQuiet(t *testing.T) {
	const at = "spec.pipeline[0].input.statusConditionHooks[0]."
	for hook, want := range map[string][]string{
		"{matcher: []}": {"13 " + at + "matcher: warning: InvalidInput: function-status-transformer has no such field and rejects its input, did you mean matchers?"},
		"{matchers: [{conditions: [{type: Ready, message: 'a (?P<b.+)'}]}]}":         {"13 " + at + "matchers[0].conditions[0].message: warning: InvalidInput: function-status-transformer cannot compile the regular expression: error parsing regexp: invalid named capture: `(?P<b.+)`"},
		"{matchers: [{conditions: [{type: Ready, message: '(?P<b>.+)', x: null}]}]}": {"13 " + at + "matchers[0].conditions[0].x: warning: InvalidInput: function-status-transformer has no such field and rejects its input"},
		"{matchers: [{conditions: [{type: Ready, message: '(?P<b>.+)'}]}]}":          nil,
	} {
		text := head + "  mode: Pipeline\n  pipeline:\n  - step: compose\n    functionRef: {name: function-status-transformer}\n    input:\n      apiVersion: function-status-transformer.fn.crossplane.io/v1beta1\n      kind: StatusTransformation\n      statusConditionHooks: [" + hook + "]\n"
		got := lines(check.InputKinds(entry(t, text), builtin.Inputs(), func(name string) string { return name }))
		e2e.Equal(t, "only the invalid field of the hook is reported: "+hook, want, got)
	}
}
