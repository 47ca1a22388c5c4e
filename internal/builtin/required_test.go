package builtin_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// The functions that require resources, and the fields of a request that have them.
const (
	environment = "environment-configs"
	extras      = "extra-resources"

	required = "requiredResources: "
	extra    = "extraResources: "
)

// items returns EnvironmentConfigs that were found for the first source.
func items(bodies ...string) string {
	for i, body := range bodies {
		bodies[i] = "{resource: " + body + "}"
	}
	return "{environment-config-0: {items: [" + strings.Join(bodies, ", ") + "]}}"
}

// requirementsOf returns a request with the spec of an input and the resources that were found.
func requirementsOf(t testing.TB, spec, found string) *fnv1.RunFunctionRequest {
	t.Helper()
	return request(t, "observed: {composite: {resource: {spec: {zone: s}}}}\ninput: {spec: "+spec+"}\n"+found)
}

// inContext returns what a function that requires resources has written to the context, without
// the kind of the environment: "absent", the names of other keys, or the value.
func inContext(function string, rsp *fnv1.RunFunctionResponse) any {
	fields := rsp.GetContext().AsMap()
	key := map[string]string{environment: "apiextensions.crossplane.io/environment", extras: "apiextensions.crossplane.io/extra-resources"}[function]
	value, ok := fields[key].(map[string]any)
	switch {
	case len(fields) == 0:
		return "absent"
	case !ok:
		return strings.Join(slices.Sorted(maps.Keys(fields)), " ")
	case value["apiVersion"] == "internal.crossplane.io/v1alpha1" && value["kind"] == "Environment":
		delete(value, "apiVersion")
		delete(value, "kind")
	}
	return value
}

// TestRequired tests rules of functions that require resources which no golden case has, and other
// versions. want is the value in the context in YAML, or else the message of the fatal result. asks
// are the fields of the requirements, or "" if they do not matter.
func TestRequired(t *testing.T) {
	const (
		one       = "{environmentConfigs: [{ref: {name: a}}]}"
		unlabeled = "{environmentConfigs: [{ref: {name: a}}, {type: Selector, selector: {matchLabels: [{key: k, valueFromFieldPath: spec.absent, fromFieldPathPolicy: Optional}]}}]}"
		selects   = "matchLabels: [{type: Value, key: k, value: v}]"
		verify    = "verifying and sorting extra resources: "
		bad       = "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.Input from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Input: json: cannot unmarshal Go value of type v1beta1."
		twice     = "{extraResources: [{type: Selector, into: b, selector: {sortByFieldPath: w, " + selects + "}}, {type: Selector, into: b, selector: {maxMatch: 1, sortByFieldPath: absent, " + selects + "}}]}"
		unsorted  = required + "{b: {items: [{resource: {w: 2}}, {resource: {w: 1}}]}}"
		none      = "{extraResources: [{type: Selector, into: b, selector: {" + selects + "}}]}"
		lists     = "{extraResources: [{type: Selector, into: b, selector: {sortByFieldPath: w, " + selects + "}}]}"
		old       = "{extraResources: [{into: b, namespace: bay, ref: {name: a}}]}"
	)
	for name, tc := range map[string]struct{ reason, function, version, spec, found, asks, want string }{
		"EnvironmentTypeEmpty":        {"an empty type is Reference", environment, "", "{environmentConfigs: [{type: '', ref: {name: a}}]}", required + items("{data: {x: 1}}"), "", "{x: 1}"},
		"EnvironmentDataNull":         {"data that is null has no effect", environment, "", one, required + items("{data: null}"), "", "{}"},
		"EnvironmentDataString":       {"data that is a string is an error", environment, "", one, required + items("{metadata: {name: a}, data: x}"), "", `cannot merge environment data: cannot get data from environment config "a": cannot unmarshal value from JSON: json: cannot unmarshal string into Go value of type map[string]interface {}`},
		"EnvironmentDataNumber":       {"data that is a number is an error", environment, "", one, required + items("{data: 1}"), "", `cannot merge environment data: cannot get data from environment config "": cannot unmarshal value from JSON: json: cannot unmarshal number into Go value of type map[string]interface {}`},
		"EnvironmentNoBody":           {"an item without a body has no data", environment, "", one, required + items("null"), "", `cannot merge environment data: cannot get data from environment config "": data: no such field`},
		"EnvironmentKindNumber":       {"a kind that is not a text counts as missing", environment, "", one, required + items("{data: {kind: 7}}"), "", "{}"},
		"EnvironmentSlashes":          {"an apiVersion with two slashes replaces the kind", environment, "", one, required + items("{data: {apiVersion: a/b/c, kind: K}}"), "", "{}"},
		"EnvironmentDefaultNull":      {"null in defaultData is a value", environment, "", "{defaultData: {a: null, b: 2, c: [1.5]}, environmentConfigs: [{ref: {name: a}}]}", required + items("{data: {}}"), "", "{a: null, b: 2, c: [1.5]}"},
		"EnvironmentModeEmpty":        {"an empty mode is Single", environment, "", "{environmentConfigs: [{type: Selector, selector: {mode: '', matchLabels: [{type: Value, key: k, value: v}]}}]}", required + items("{data: {x: 1}}"), "", "{x: 1}"},
		"EnvironmentModeUnknown":      {"an unknown mode is an error", environment, "", "{environmentConfigs: [{type: Selector, selector: {mode: All, matchLabels: [{type: Value, key: k, value: v}]}}]}", required + items("{data: {x: 1}}"), "", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: unknown selector mode "All"`},
		"EnvironmentMaxZero":          {"maxMatch 0 leaves no EnvironmentConfig", environment, "", "{environmentConfigs: [{type: Selector, selector: {mode: Multiple, maxMatch: 0, matchLabels: [{type: Value, key: k, value: v}]}}]}", required + items("{data: {x: 1}}"), "", "{}"},
		"EnvironmentSortMap":          {"values that are objects cannot be sorted", environment, "", "{environmentConfigs: [{type: Selector, selector: {mode: Multiple, sortByFieldPath: data, matchLabels: [{type: Value, key: k, value: v}]}}]}", required + items("{data: {x: 1}}", "{data: {}}"), "", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: unsupported type "map" for sorting`},
		"EnvironmentSortNotAList":     {"a sort path through a text is an error", environment, "", "{environmentConfigs: [{type: Selector, selector: {mode: Multiple, sortByFieldPath: data.a.b, matchLabels: [{type: Value, key: k, value: v}]}}]}", required + items("{data: {a: x}}"), "", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: data.a: not an object`},
		"EnvironmentPathStar":         {"[*] in toFieldPath is a key", environment, "", "{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[*]'}]}", required + items("{data: {x: 1}}"), "", "{a: {'*': {x: 1}}}"},
		"EnvironmentPathList":         {"data of any type is set at toFieldPath, after nulls", environment, "", "{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[2]'}]}", required + items("{data: [1]}"), "", "{a: [null, null, [1]]}"},
		"EnvironmentPathIndex":        {"an index cannot be set in an object", environment, "", "{environmentConfigs: [{ref: {name: a}, toFieldPath: '[0]'}]}", required + items("{metadata: {name: far}, data: {}}"), "", `cannot merge environment data: cannot get data from environment config far into path "[0]"`},
		"EnvironmentPathFar":          {"an index above 1024 is an error", environment, "", "{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[1025]'}]}", required + items("{data: {}}"), "", `cannot merge environment data: cannot get data from environment config  into path "a[1025]"`},
		"EnvironmentVersionOld":       {"v0.6.0 uses the fields extraResources", environment, "v0.6.0", one, extra + items("{metadata: {name: a}, data: {x: 1}}"), "extraResources", "{x: 1}"},
		"EnvironmentVersionOldOther":  {"v0.6.0 does not read requiredResources", environment, "v0.6.0", one, required + items("{metadata: {name: a}, data: {x: 1}}"), "extraResources", "absent"},
		"EnvironmentVersionOldText":   {"v0.6.0 says extra resource", environment, "v0.6.0", one, extra + items("{}", "{}"), "extraResources", `cannot get selected environment configs: cannot process environment config "a" by reference, "environment-config-0": expected exactly one extra resource "a", got 2`},
		"EnvironmentVersionOldSingle": {"v0.6.0 says extra resource for a selector", environment, "v0.6.0", "{environmentConfigs: [{type: Selector, selector: {matchLabels: [{type: Value, key: k, value: v}]}}]}", extra + items(), "extraResources", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: expected exactly one extra resource, got 0`},
		"EnvironmentVersionOldPath":   {"v0.6.0 does not know toFieldPath, even if it is null", environment, "v0.6.0", "{environmentConfigs: [{ref: {name: a}}, {ref: {name: a}, toFieldPath: null}]}", extra + items("{metadata: {name: a}, data: {x: 1}}"), "", `cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.Input from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Input: json: cannot unmarshal Go value of type v1beta1.EnvironmentSource: unknown name "toFieldPath"`},
		"EnvironmentVersionNoLabels":  {"v0.4.0 does not skip a selector without labels", environment, "v0.4.0", unlabeled, extra + items("{metadata: {name: a}, data: {x: 1}}"), "extraResources", `cannot get selected environment configs: cannot find expected extra resource "environment-config-1"`},
		"EnvironmentVersionSkips":     {"v0.5.0 skips a selector without labels", environment, "v0.5.0", unlabeled, extra + items("{metadata: {name: a}, data: {x: 1}}"), "extraResources", "{x: 1}"},
		"EnvironmentVersionNew":       {"v0.7.0 uses the field resources", environment, "v0.7.0", one, required + items("{metadata: {name: a}, data: {x: 1}}"), "resources", "{x: 1}"},
		"EnvironmentVersionBranch":    {"the branch is like the newest release", environment, "main", one, required + items("{metadata: {name: a}, data: {x: 1}}"), "resources", "{x: 1}"},
		"ExtraSortedInPlace":          {"a source sees the order of an earlier source with the same key", extras, "", twice, unsorted, "", "{b: [{w: 1}, {w: 2}, {w: 1}]}"},
		"ExtraNoBody":                 {"an item without a body is an empty object", extras, "", "{extraResources: [{into: b, ref: {name: a}}]}", required + "{b: {items: [{}]}}", "", "{b: [{}]}"},
		"ExtraMaxZero":                {"maxMatch 0 leaves no key", extras, "", "{extraResources: [{type: Selector, into: b, selector: {maxMatch: 0, " + selects + "}}]}", unsorted, "", "{}"},
		"ExtraLists":                  {"lists cannot be sorted", extras, "", lists, required + "{b: {items: [{resource: {w: [1]}}, {resource: {}}]}}", "", verify + `unsupported type "[]interface {}" for sorting`},
		"ExtraOneList":                {"one item needs no sorting", extras, "", lists, required + "{b: {items: [{resource: {w: [1]}}]}}", "", "{b: [{w: [1]}]}"},
		"ExtraIntoEmpty":              {"an empty key is a key", extras, "", "{extraResources: [{into: '', ref: {name: a}}]}", required + "{'': {items: [{resource: {w: 1}}]}}", "", "{'': [{w: 1}]}"},
		"ExtraBranchLists":            {"the branch names the kind of values that cannot be sorted", extras, "main", lists, required + "{b: {items: [{resource: {w: [1]}}, {resource: {}}]}}", "", verify + `unsupported type "slice" for sorting`},
		"ExtraBranchNone":             {"in the branch a selector without resources has an empty list", extras, "main", none, required + "{b: {}}", "", "{b: []}"},
		"ExtraBranchTwice":            {"in the branch the last source with a key wins", extras, "main", twice, unsorted, "", "{b: [{w: 1}]}"},
		"ExtraBranchKey":              {"the branch has a field for the context key", extras, "v0.4.0-rc.1", "{extraResources: [], context: {key: mine}}", required + "{x: {}}", "", "mine"},
		"ExtraBranchKeyNull":          {"the context key has a default", extras, "main", "{extraResources: [], context: {}}", required + "{x: {}}", "", "{}"},
		"ExtraOldNamespace":           {"v0.1.0 has no namespace", extras, "v0.1.0", old, required + "{}", "", bad + `ResourceSource: unknown name "namespace"`},
		"ExtraOldProtocol":            {"v0.2.0 reads extraResources", extras, "v0.2.0", old, extra + "{b: {items: [{resource: {w: 1}}]}}", "", "{b: [{w: 1}]}"},
		"ExtraOldRequired":            {"v0.2.0 does not read requiredResources", extras, "v0.2.0", old, required + "{b: {items: [{resource: {w: 1}}]}}", "", "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, named(t, tc.function, tc.version), requirementsOf(t, tc.spec, tc.found))
			var want, got any = tc.want, functiontest.Fatal(rsp)
			if got == "" {
				got = inContext(tc.function, rsp)
				e2e.NoError(t, yaml.Unmarshal([]byte(tc.want), &want))
			}
			e2e.Equal(t, tc.reason, want, got)
			if asks, err := protojson.Marshal(rsp.GetRequirements()); tc.asks != "" && !strings.HasPrefix(string(asks), `{"`+tc.asks+`":`) || err != nil {
				t.Errorf("%s: got the requirements %s, want the field %s: %v", tc.reason, asks, tc.asks, err)
			}
		})
	}
}

// TestRequiredAlpha checks the apiVersion of required EnvironmentConfigs.
func TestRequiredAlpha(t *testing.T) {
	for version, want := range map[string]string{"v0.2.0": "v1alpha1", "v0.3.0": "v1beta1", "": "v1beta1"} {
		asks := respond(t, named(t, environment, version), requirementsOf(t, "{environmentConfigs: [{ref: {name: a}}]}", "")).GetRequirements()
		if got := asks.String(); !strings.Contains(got, `"apiextensions.crossplane.io/`+want+`"`) {
			t.Errorf("%q: got %s, want %s", version, got, want)
		}
	}
}

// An empty map of required resources is the first pass, as over gRPC.
func TestRequiredEmpty(t *testing.T) {
	req := requirementsOf(t, "{environmentConfigs: [{ref: {name: a}}]}", required+"{}")
	req.RequiredResources = map[string]*fnv1.Resources{}
	if rsp := respond(t, named(t, environment, ""), req); len(rsp.GetResults()) > 0 || rsp.GetContext() != nil {
		t.Errorf("got %v", rsp)
	}
}

// With more than 12 items, equal values are in the order in which sort.Slice of the real function
// left them. No golden case has as many, so this test only checks that the order is not stable.
func TestExtraResourcesOrderOfEqualValues(t *testing.T) {
	items := ""
	for i := range 25 {
		items += fmt.Sprintf("{resource: {metadata: {name: i%02d}, w: %d}}, ", i, i*7%4)
	}
	spec := "{extraResources: [{type: Selector, into: b, selector: {sortByFieldPath: w, matchLabels: [{type: Value, key: k, value: v}]}}]}"
	rsp := respond(t, named(t, extras, ""), requirementsOf(t, spec, required+"{b: {items: ["+items+"]}}"))
	list := inContext(extras, rsp).(map[string]any)["b"].([]any)
	stable, last, lastW := true, "", -1.0
	for _, v := range list {
		f := v.(map[string]any)
		name, w := f["metadata"].(map[string]any)["name"].(string), f["w"].(float64)
		if w < lastW {
			t.Fatalf("not sorted: %v", list)
		}
		stable = stable && (w > lastW || name > last)
		last, lastW = name, w
	}
	if len(list) != 25 || stable {
		t.Errorf("got %d items, stable: %t", len(list), stable)
	}
}

// Sources with the same key cannot multiply resources without limit.
func TestExtraResourcesLimit(t *testing.T) {
	req := requirementsOf(t, "{extraResources: ["+strings.Repeat("{into: b, type: Ignored}, ", 1100)+"]}", required+"{b: {items: []}}")
	req.GetRequiredResources()["b"].Items = make([]*fnv1.Resource, 1000)
	e2e.Equal(t, "the resources of all sources together are limited", "verifying and sorting extra resources: the extra resources are more than 1048576", functiontest.Fatal(respond(t, named(t, extras, ""), req)))
}
