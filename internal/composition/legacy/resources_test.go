package legacy_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestResources checks the converted input of function-patch-and-transform.
// Fields that the legacy Composition omits have their defaults.
func TestResources(t *testing.T) {
	const noFloats = ": function-patch-and-transform decodes each number as a float, which %d does not print as an integer: use %.0f"
	cases := map[string]struct {
		reason, resources, want string
		notes                   []string
	}{
		"Names": {"resources without names are named by their index", "[{base: {kind: A}}, {base: {kind: B}}]", "[{name: resource-0, base: {kind: A}}, {name: resource-1, base: {kind: B}}]", []string{
			"spec.resources: the resources have no names, so they are named resource-0 and so on: existing resources need these names in the annotation crossplane.io/composition-resource-name before a pipeline may compose them",
		}},
		"SomeNames": {"resources with and without names are noted", "[{name: a}, {}]", "[{name: a}, {name: resource-1}]", []string{
			"spec.resources: some resources have names and others do not: Crossplane would reject the Composition",
		}},
		"Base": {
			"a base is kept unchanged, with its numbers and nulls", "[{name: a, base: {big: 9007199254740993, half: 0.5, nothing: null, list: []}}, {name: b, base: {}}]",
			"[{name: a, base: {big: 9007199254740993, half: 0.5, nothing: null, list: []}}, {name: b, base: {}}]", nil,
		},
		"EmptyLists": {"empty fields are left out", "[{name: a, base: null, patches: [], connectionDetails: null, readinessChecks: []}]", "[{name: a}]", nil},
		"UnknownKeys": {"unknown fields are dropped, since the function would reject them", "[{name: a, bese: 1, patches: [{FromFieldPath: a, fromFieldPath: b, policy: {toFieldPath: MergeObjects}}]}]", "[{name: a, patches: [{type: FromCompositeFieldPath, fromFieldPath: b}]}]", []string{
			"spec.resources[0].bese: unknown field: the API server drops it, did you mean base?",
			"spec.resources[0].patches[0].FromFieldPath: unknown field: the API server drops it, did you mean fromFieldPath?",
			"spec.resources[0].patches[0].policy.toFieldPath: unknown field: the API server drops it",
		}},
		"Secrets": {"the type of a connection detail is inferred in the order of its schema, and its name from the key", `[{name: a, connectionDetails: [
			{fromConnectionSecretKey: k}, {name: own, fromConnectionSecretKey: k}, {name: v, value: ''}, {name: p, fromFieldPath: spec.x},
			{name: vk, value: x, fromConnectionSecretKey: k, fromFieldPath: p}, {name: kp, fromConnectionSecretKey: k, fromFieldPath: p},
			{type: FromFieldPath, name: said, value: x, fromFieldPath: p}, {type: FromConnectionSecretKey, fromConnectionSecretKey: ''}, {name: none}]}]`, `[{name: a, connectionDetails: [
			{type: FromConnectionSecretKey, name: k, fromConnectionSecretKey: k}, {type: FromConnectionSecretKey, name: own, fromConnectionSecretKey: k}, {type: FromValue, name: v, value: ''}, {type: FromFieldPath, name: p, fromFieldPath: spec.x},
			{type: FromValue, name: vk, value: x, fromConnectionSecretKey: k, fromFieldPath: p}, {type: FromConnectionSecretKey, name: kp, fromConnectionSecretKey: k, fromFieldPath: p},
			{type: FromFieldPath, name: said, value: x, fromFieldPath: p}, {type: FromConnectionSecretKey, name: '', fromConnectionSecretKey: ''}, {type: FromConnectionSecretKey, name: none}]}]`, nil},
		"Ready": {"readiness checks are kept, with the defaults of conditions", `[{name: a, readinessChecks: [
			{type: None}, {type: NonEmpty, fieldPath: ''}, {type: MatchString, fieldPath: a, matchString: ''}, {type: MatchTrue, fieldPath: a}, {type: MatchFalse, fieldPath: a},
			{type: MatchCondition}, {type: MatchCondition, matchCondition: {type: Synced}}, {type: MatchCondition, matchCondition: {status: 'False'}}]}]`, `[{name: a, readinessChecks: [
			{type: None}, {type: NonEmpty, fieldPath: ''}, {type: MatchString, fieldPath: a, matchString: ''}, {type: MatchTrue, fieldPath: a}, {type: MatchFalse, fieldPath: a},
			{type: MatchCondition, matchCondition: {type: Ready, status: 'True'}}, {type: MatchCondition, matchCondition: {type: Synced, status: 'True'}}, {type: MatchCondition, matchCondition: {type: Ready, status: 'False'}}]}]`, nil},
		"ReadyInteger": {"a readiness check that never passes is noted", "[{name: a, readinessChecks: [{type: None}, {type: MatchInteger, fieldPath: a, matchInteger: 0}]}]", "[{name: a, readinessChecks: [{type: None}, {type: MatchInteger, fieldPath: a, matchInteger: 0}]}]", []string{
			"spec.resources[0].readinessChecks[1]: function-patch-and-transform decodes each observed number as a float, which never equals an integer, so the resource will not become ready",
		}},
		"PatchTypes": {
			"FromCompositeFieldPath is the default type of a patch", "[{name: a, patches: [{fromFieldPath: ''}, {type: PatchSet, patchSetName: s}, {type: CombineToEnvironment, toFieldPath: a, combine: {strategy: string, variables: [{fromFieldPath: b}], string: {fmt: '%v%%d'}}}]}]",
			"[{name: a, patches: [{type: FromCompositeFieldPath, fromFieldPath: ''}, {type: PatchSet, patchSetName: s}, {type: CombineToEnvironment, toFieldPath: a, combine: {strategy: string, variables: [{fromFieldPath: b}], string: {fmt: '%v%%d'}}}]}]", nil,
		},
		"Policies": {"merge options become a policy, and other policies are kept", `[{name: a, patches: [
			{policy: {fromFieldPath: Required}}, {policy: {fromFieldPath: Optional, mergeOptions: {}}}, {policy: {mergeOptions: {keepMapValues: true}}}, {policy: {mergeOptions: {appendSlice: true, keepMapValues: false}}},
			{policy: {mergeOptions: {keepMapValues: true, appendSlice: true}}}, {policy: {mergeOptions: null}}, {policy: {}}]}]`, `[{name: a, patches: [
			{type: FromCompositeFieldPath, policy: {fromFieldPath: Required}}, {type: FromCompositeFieldPath, policy: {fromFieldPath: Optional, toFieldPath: ForceMergeObjects}},
			{type: FromCompositeFieldPath, policy: {toFieldPath: MergeObjects}}, {type: FromCompositeFieldPath, policy: {toFieldPath: ForceMergeObjectsAppendArrays}},
			{type: FromCompositeFieldPath, policy: {toFieldPath: MergeObjectsAppendArrays}}, {type: FromCompositeFieldPath}, {type: FromCompositeFieldPath}]}]`, nil},
		"CombinePolicy": {"merge options of a combine patch are left out", "[{name: a, patches: [{type: CombineToComposite, policy: {fromFieldPath: Required, mergeOptions: {appendSlice: true}}}]}]", "[{name: a, patches: [{type: CombineToComposite, policy: {fromFieldPath: Required}}]}]", []string{
			"spec.resources[0].patches[0].policy.mergeOptions: a patch of type CombineToComposite ignores merge options and replaces the existing value, so they are left out",
		}},
		"Integers": {"formats of integers are noted, unless a transform converts to integers first", `[{name: a, patches: [
			{fromFieldPath: a, transforms: [{string: {fmt: '%d'}}]},
			{fromFieldPath: a, transforms: [{convert: {toType: int64}}, {math: {multiply: 2}}, {string: {fmt: '%d'}}]},
			{fromFieldPath: a, transforms: [{convert: {toType: string}}, {string: {fmt: '%+06[1]d'}}]},
			{fromFieldPath: a, transforms: [{string: {fmt: '%s 100%% done %v', convert: ToUpper}}]},
			{type: CombineFromComposite, combine: {strategy: string, variables: [], string: {fmt: 'a-%d'}}}]}]`, `[{name: a, patches: [
			{type: FromCompositeFieldPath, fromFieldPath: a, transforms: [{type: string, string: {type: Format, fmt: '%d'}}]},
			{type: FromCompositeFieldPath, fromFieldPath: a, transforms: [{type: convert, convert: {toType: int64}}, {type: math, math: {type: Multiply, multiply: 2}}, {type: string, string: {type: Format, fmt: '%d'}}]},
			{type: FromCompositeFieldPath, fromFieldPath: a, transforms: [{type: convert, convert: {toType: string}}, {type: string, string: {type: Format, fmt: '%+06[1]d'}}]},
			{type: FromCompositeFieldPath, fromFieldPath: a, transforms: [{type: string, string: {type: Format, fmt: '%s 100%% done %v', convert: ToUpper}}]},
			{type: CombineFromComposite, combine: {strategy: string, variables: [], string: {fmt: 'a-%d'}}}]}]`, []string{
			"spec.resources[0].patches[0].transforms[0].string.fmt" + noFloats,
			"spec.resources[0].patches[2].transforms[1].string.fmt" + strings.Replace(noFloats, "%d", "%+06[1]d", 1),
			"spec.resources[0].patches[4].combine.string.fmt" + noFloats,
		}},
		"Fallback": {"a match transform without a fallback value has null, as in the output of the crossplane CLI", `[{name: a, patches: [{fromFieldPath: a, transforms: [
			{type: match, match: {patterns: [{type: literal, literal: a, result: b}], fallbackValue: null}}, {type: match, match: {patterns: [{type: literal, literal: a, result: b}], fallbackTo: Input}}]}]}]`, `[{name: a, patches: [{type: FromCompositeFieldPath, fromFieldPath: a, transforms: [
			{type: match, match: {patterns: [{type: literal, literal: a, result: b}], fallbackValue: null}}, {type: match, match: {patterns: [{type: literal, literal: a, result: b}], fallbackValue: null, fallbackTo: Input}}]}]}]`, nil},
		"Transforms": {"omitted types are inferred from the fields that are set", `[{name: a, patches: [{fromFieldPath: a, transforms: [
			{map: {a: 1, b: null}}, {match: {patterns: [{literal: '', result: null}, {regexp: x, result: false}, {type: regexp, literal: x}, {}], fallbackValue: 0, fallbackTo: Input}},
			{math: {clampMin: 1}}, {math: {clampMax: 1, multiply: 0}}, {math: {type: ClampMax}}, {math: {}},
			{string: {convert: ToUpper}}, {string: {regexp: {match: a, group: 0}}}, {string: {join: {separator: ''}}}, {string: {replace: {search: a, replace: ''}}}, {string: {type: TrimPrefix, trim: ''}}, {string: {trim: x}},
			{convert: {toType: bool, format: none}}, {type: convert, string: {fmt: a}}, {}]}]}]`, `[{name: a, patches: [{type: FromCompositeFieldPath, fromFieldPath: a, transforms: [
			{type: map, map: {a: 1, b: null}}, {type: match, match: {patterns: [{type: literal, literal: '', result: null}, {type: regexp, regexp: x, result: false}, {type: regexp, literal: x, result: null}, {type: literal, result: null}], fallbackValue: 0, fallbackTo: Input}},
			{type: math, math: {type: ClampMin, clampMin: 1}}, {type: math, math: {type: Multiply, clampMax: 1, multiply: 0}}, {type: math, math: {type: ClampMax}}, {type: math, math: {type: Multiply}},
			{type: string, string: {type: Convert, convert: ToUpper}}, {type: string, string: {type: Regexp, regexp: {match: a, group: 0}}}, {type: string, string: {type: Join, join: {separator: ''}}}, {type: string, string: {type: Replace, replace: {search: a, replace: ''}}}, {type: string, string: {type: TrimPrefix, trim: ''}}, {type: string, string: {type: Format, trim: x}},
			{type: convert, convert: {toType: bool, format: none}}, {type: convert, string: {type: Format, fmt: a}}, {type: ''}]}]}]`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pipeline, notes := convert(t, "  resources: "+flow(tc.resources)+"\n")
			got := pipeline.([]any)[0].(map[string]any)["input"].(map[string]any)["resources"]
			e2e.Equal(t, tc.reason, list(t, flow(tc.want)), got)
			e2e.Equal(t, tc.reason, tc.notes, notes)
		})
	}
}

// flow joins the lines of a YAML text with spaces.
func flow(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestPatchesOfSets checks the patches of patch sets and of the environment.
func TestPatchesOfSets(t *testing.T) {
	pipeline, notes := convert(t, `  mode: Resources
  patchSets:
  - name: s
    patches:
    - {fromFieldPath: a, policy: {mergeOptions: {appendSlice: true}}, transforms: [{math: {multiply: 2}}]}
    - {type: PatchSet, patchSetName: other}
  environment:
    patches:
    - {fromFieldPath: a, patchSetName: s, transforms: [{string: {fmt: '%d'}}]}
`)
	got := pipeline.([]any)[0].(map[string]any)["input"]
	want := list(t, `
apiVersion: pt.fn.crossplane.io/v1beta1
kind: Resources
patchSets:
- name: s
  patches:
  - {type: FromCompositeFieldPath, fromFieldPath: a, policy: {toFieldPath: ForceMergeObjectsAppendArrays}, transforms: [{type: math, math: {type: Multiply, multiply: 2}}]}
  - {type: PatchSet}
environment:
  patches:
  - {type: FromCompositeFieldPath, fromFieldPath: a, transforms: [{type: string, string: {type: Format, fmt: '%d'}}]}
`)
	e2e.Equal(t, "patches get the defaults and types of the function's input", want, got)
	wantNotes := []string{
		"spec.patchSets[0].patches[1].patchSetName: unknown field: the API server drops it",
		"spec.environment.patches[0].patchSetName: unknown field: the API server drops it",
		"spec.environment.patches[0].transforms[0].string.fmt: function-patch-and-transform decodes each number as a float, which %d does not print as an integer: use %.0f",
	}
	e2e.Equal(t, "each field that is lost or works differently has a note", wantNotes, notes)
}

// TestEnvironment checks the input of function-environment-configs.
func TestEnvironment(t *testing.T) {
	const selects = "{type: Selector, selector: {mode: Multiple, maxMatch: 2, minMatch: 0, sortByFieldPath: data.x, matchLabels: [{type: Value, key: k, value: v}, {key: k, valueFromFieldPath: spec.x, fromFieldPathPolicy: Optional}]}}"
	anew := []string{"spec.environment.policy.resolve: function-environment-configs selects again in each reconcile, like Always; the default, IfNotPresent, keeps the first selection"}
	const ignored = "spec.environment.defaultData: function-environment-configs ignores default data if there are no environmentConfigs"
	cases := map[string]struct {
		reason, environment, want string
		notes                     []string
	}{
		"Reference":    {"a reference by name is kept", "{environmentConfigs: [{type: Reference, ref: {name: one}}], policy: {resolution: Optional}}", "{environmentConfigs: [{type: Reference, ref: {name: one}}], policy: {resolution: Optional}}", nil},
		"Selector":     {"the policy IfNotPresent is noted", "{environmentConfigs: [" + selects + "]}", "{environmentConfigs: [" + selects + "]}", anew},
		"IfNotPresent": {"the explicit default policy is noted", "{environmentConfigs: [" + selects + "], policy: {resolve: IfNotPresent}}", "{environmentConfigs: [" + selects + "]}", anew},
		"Always":       {"the policy Always needs no note", "{environmentConfigs: [" + selects + "], policy: {resolve: Always}}", "{environmentConfigs: [" + selects + "]}", nil},
		"Data":         {"default data without a source is noted", "{defaultData: {a: {b: [1, null]}}}", "{defaultData: {a: {b: [1, null]}}}", []string{ignored}},
		"Unknown":      {"unknown fields are dropped", "{defaultData: {a: 1}, default: 1}", "{defaultData: {a: 1}}", []string{"spec.environment.default: unknown field: the API server drops it", ignored}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pipeline, notes := convert(t, "  environment: "+tc.environment+"\n  resources: [{name: one}]\n")
			step := pipeline.([]any)[0].(map[string]any)
			e2e.Equal(t, tc.reason, "function-environment-configs", step["functionRef"].(map[string]any)["name"])
			e2e.Equal(t, tc.reason, list(t, tc.want), step["input"].(map[string]any)["spec"])
			e2e.Equal(t, tc.reason, tc.notes, notes)
		})
	}
}

// TestFunctions checks the notes about alpha functions. They say what replaces
// each setting of the container.
func TestFunctions(t *testing.T) {
	pipeline, notes := convert(t, `  functions:
  - name: My cool_Function
    type: Container
    config: {apiVersion: acme.test/v1, kind: Config}
    container:
      image: acme/cool:v1
      imagePullPolicy: Always
      imagePullSecrets: [{name: s}]
      timeout: 30s
      network: {policy: Runner}
      resources: {limits: {cpu: 250m}}
      runner: {endpoint: x}
  - {name: '...', type: Container, container: {image: acme/odd:v1}}
`)
	want := list(t, `
- {step: My cool_Function, functionRef: {name: my-cool-function}, input: {apiVersion: acme.test/v1, kind: Config}}
- {step: '...', functionRef: {name: function}}
`)
	e2e.Equal(t, "each alpha function becomes a step", want, pipeline)
	var fields []string
	for _, n := range notes {
		field, _, _ := strings.Cut(n, ": ")
		fields = append(fields, strings.TrimPrefix(field, "spec.functions"))
	}
	wantFields := []string{
		"[0].container.image", "[0].container.imagePullPolicy", "[0].container.imagePullSecrets", "[0].container.timeout",
		"[0].container.network", "[0].container.resources", "[0].container.runner", "[1].container.image",
	}
	e2e.Equal(t, "each setting of a container has a note", wantFields, fields)
}
