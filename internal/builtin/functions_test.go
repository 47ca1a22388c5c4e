package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/progress"
)

// named returns the function of a builtin as it is in a version.
func named(t testing.TB, name, version string) function.Runner {
	t.Helper()
	b := e2e.Must(builtin.Find(name))(t)
	return b.New(builtin.Options{Package: "acme/function:" + version})
}

// request parses a request in YAML.
func request(t testing.TB, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	return e2e.Must(functiontest.ParseRequest([]byte(text)))(t)
}

// object parses an object in YAML.
func object(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	return request(t, "context: "+text).GetContext()
}

// respond returns the response of a function to a request, which it must not change.
func respond(t testing.TB, f function.Runner, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	before := proto.CloneOf(req)
	rsp := e2e.Must(f.RunFunction(t.Context(), "f", req))(t)
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
	return rsp
}

// results returns the messages of all results, separated by "|".
func results(rsp *fnv1.RunFunctionResponse) string {
	var all []string
	for _, r := range rsp.GetResults() {
		all = append(all, r.GetMessage())
	}
	return strings.Join(all, "|")
}

// TestUnknownNames checks the warnings about names in inputs that no resource has.
func TestUnknownNames(t *testing.T) {
	const resources = "desired: {resources: {bucket: {}, zone-a: {}, node-1: {}}}\nobserved: {resources: {table: {}}}\ninput: "
	cases := map[string]struct{ reason, name, input, want string }{
		"Filter":   {"a name is similar to the name of a desired resource", "function-cel-filter", "{filters: [{name: buckt, expression: 'true'}]}", `pipeline step "": filters[0].name: no composed resource has the name "buckt", did you mean bucket?`},
		"Sequence": {"a name in a list is similar to the name of an observed resource", "function-sequencer", "{rules: [{sequence: [bucket, tabel]}]}", `pipeline step "": rules[0].sequence[1]: no composed resource has the name "tabel", did you mean table?`},
		"Status":   {"anchors are not part of a name", "function-status-transformer", "{statusConditionHooks: [{matchers: [{resources: [{name: ^buckett$}], conditions: [{type: Ready}]}]}]}", `pipeline step "": statusConditionHooks[0].matchers[0].resources[0].name: no composed resource has the name "buckett", did you mean bucket?`},
		"Anywhere": {"function-status-transformer matches a part of the name of a resource", "function-status-transformer", "{statusConditionHooks: [{matchers: [{resources: [{name: zone}, {name: nod}], conditions: [{type: Ready}]}]}]}", ""},
		"Begin":    {"a name with only the anchor ^ is a prefix of names", "function-sequencer", "{rules: [{sequence: [^buck, bucket]}]}", ""},
		"Letter":   {"a name that differs in the last letter may be intended, like zone-a and zone-b", "function-sequencer", "{rules: [{sequence: [zone-b, bucket]}]}", ""},
		"Named":    {"the similar resource is named itself, so this may be another one", "function-sequencer", "{rules: [{sequence: [zone-a, zone-b]}]}", ""},
		"Number":   {"a name that differs in digits may be intended, like node-1 and node-2", "function-cel-filter", "{filters: [{name: node-2, expression: 'true'}]}", ""},
		"Pattern":  {"a regular expression may match nothing", "function-cel-filter", "{filters: [{name: buck.t-x, expression: 'true'}]}", ""},
		"Other":    {"a resource of another name may be conditional", "function-cel-filter", "{filters: [{name: database, expression: 'true'}]}", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			b := e2e.Must(builtin.Find(tc.name))(t)
			f := b.New(builtin.Options{Progress: func(e progress.Event) { warnings = append(warnings, e.Text) }})
			for range 2 {
				respond(t, f, request(t, resources+tc.input))
			}
			e2e.Equal(t, tc.reason, tc.want, strings.Join(warnings, "|"))
		})
	}
}

const golden = "../../testdata/golden/"

// TestGolden compares functions with the real ones. Before v0.2.0, function-cel-filter differs only in
// texts about types.
func TestGolden(t *testing.T) {
	for folder, functions := range map[string][]string{
		"autoready": {"auto-ready"}, "cel-filter": {"cel-filter", "cel-filter:v0.1.1"}, "dummy": {"dummy"}, "environment-configs": {"environment-configs"},
		"extra-resources": {"extra-resources"}, "sequencer": {"sequencer"}, "status-transformer": {"status-transformer"}, "tag-manager": {"tag-manager"},
	} {
		for _, f := range functions {
			t.Run(f, func(t *testing.T) {
				name, version, _ := strings.Cut(f, ":")
				functiontest.Golden(t, golden+folder, named(t, name, version))
			})
		}
	}
}

// TestPatchAndTransformVersions checks what differs before the version with connection secrets.
func TestPatchAndTransformVersions(t *testing.T) {
	const details = "{resources: [{name: a, base: {kind: K}, connectionDetails: [{name: x, type: FromValue, value: v}]}]}"
	for name, tc := range map[string]struct{ reason, version, input, want string }{
		"NoSecret": {"before v0.10.0, no Secret is composed", "v0.9.3", details, "a"},
		"Secret":   {"v0.10.0 composes a Secret", "v0.10.0", details, "a,p-connection-secret"},
		"NoField":  {"before v0.10.0, the field for the Secret is unknown", "v0.9", "{resources: [{name: a, base: {kind: K}}], writeConnectionSecretToRef: {}}", `cannot unmarshal Go value of type v1beta1.Resources: unknown name "writeConnectionSecretToRef"`},
		"Field":    {"v0.10.0 has the field", "v0.10.0", "{resources: [{name: a, base: {kind: K}}], writeConnectionSecretToRef: {}}", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, named(t, "patch-and-transform", tc.version), request(t, "observed: {composite: {resource: {kind: P, metadata: {name: p}, spec: {crossplane: {}}}}, resources: {a: {}}}\ninput: "+tc.input))
			got := strings.Join(slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())), ",") + results(rsp)
			if !strings.HasSuffix(got, tc.want) {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCrashes checks inputs that crash real functions. In the builtins, they cause a fatal result that
// names the field, and change nothing.
func TestCrashes(t *testing.T) {
	for path, tc := range map[string]struct{ want, field string }{
		"environment-configs-crash/label-path-nil":  {"cannot build requirements: ValueFromFieldPath cannot be nil for type 'FromCompositeFieldPath'", "spec.environmentConfigs[0].selector.matchLabels[0]"},
		"environment-configs-crash/label-value-nil": {"cannot build requirements: Value cannot be nil for type 'Value'", "spec.environmentConfigs[0].selector.matchLabels[0]"},
		"environment-configs-crash/ref-nil":         {"cannot build requirements: spec.environmentConfigs[0].ref must be set for type Reference", "spec.environmentConfigs[0].ref"},
		"environment-configs-crash/selector-nil":    {"cannot build requirements: spec.environmentConfigs[0].selector must be set for type Selector", "spec.environmentConfigs[0].selector"},
		"extra-resources-crash/ref-nil":             {"could not build extra resource requirements: spec.extraResources[0].ref must be set for type Reference", "spec.extraResources[0].ref"},
		"extra-resources-crash/selector-nil":        {"could not build extra resource requirements: spec.extraResources[0].selector must be set for type Selector", "spec.extraResources[0].selector"},
		"sequencer-crash/no-desired":                {"cannot set desired composed resources: the request has no desired state", ""},
		"sequencer-crash/reset-no-composite":        {"cannot reset the readiness of the composite resource: the request has no desired composite resource", ""},
		"tag-manager-crash/fromenv-no-path":         {"removeTags[0]: fromFieldPath is required for type FromEnvironmentFieldPath", "removeTags[0]"},
		"tag-manager-crash/fromxr-no-path":          {"addTags[0]: fromFieldPath is required for type FromCompositeFieldPath", "addTags[0]"},
		"tag-manager-crash/ignore-no-path":          {"ignoreTags[0]: fromFieldPath is required for type FromCompositeFieldPath", "ignoreTags[0]"},
	} {
		t.Run(path, func(t *testing.T) {
			req := functiontest.Request(t, golden+path+"/request.yaml")
			name, _, _ := strings.Cut(path, "-crash/")
			rsp := respond(t, named(t, name, ""), req)
			if got := functiontest.Fatal(rsp); got != tc.want || rsp.GetRequirements() != nil || !proto.Equal(rsp.GetDesired(), req.GetDesired()) {
				t.Errorf("got %v, want %s", rsp, tc.want)
			}
			e2e.Equal(t, "the field of the input that causes the error is located", tc.field, locate(t, name, tc.want, req.GetInput()))
		})
	}
}

// locate returns the field, and the line in it unless that is the first, to which a fatal result refers.
func locate(t *testing.T, name, fatal string, input *structpb.Struct) string {
	t.Helper()
	b := e2e.Must(builtin.Find(name))(t)
	text := e2e.Must(input.MarshalJSON())(t)
	at := b.Locate(t.Context(), fatal, text, nil)
	if at.Line > 1 {
		return fmt.Sprintf("%s:%d", at.Field, at.Line)
	}
	return at.Field
}

// TestLocate checks that the fatal results of inputs lead to their fields. If message is "", the fatal
// result of the request is used.
func TestLocate(t *testing.T) {
	const sources = "{spec: {extraResources: [{into: a}, {into: b}, {into: bool}]}}"
	for name, tc := range map[string]struct{ reason, function, input, message, want string }{
		"EnvironmentKey":   {"a message with a key is about its source", "environment-configs", "{}", `cannot get selected environment configs: cannot process environment config "b" by reference, "environment-config-1": Required environment config "b" not found`, "spec.environmentConfigs[1]"},
		"EnvironmentUnset": {"a message about a missing field names it", "environment-configs", "{}", "cannot build requirements: spec.environmentConfigs[2].ref must be set for type Reference", "spec.environmentConfigs[2].ref"},
		"EnvironmentValue": {"a label has no value", "environment-configs", "{spec: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: a, type: Value, value: b}]}}, {type: Selector, selector: {matchLabels: [{key: a, type: Value, valueFromFieldPath: b}]}}]}}", "", "spec.environmentConfigs[1].selector.matchLabels[0]"},
		"EnvironmentPath":  {"the value of a label does not exist", "environment-configs", "{spec: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: a, valueFromFieldPath: b.c, fromFieldPathPolicy: Optional}, {key: a, valueFromFieldPath: b.c}]}}]}}", "", "spec.environmentConfigs[0].selector.matchLabels[1].valueFromFieldPath"},
		"ExtraNoPath":      {"a label of an extra source has no path", "extra-resources", "{spec: {extraResources: [{into: a, type: Selector, selector: {matchLabels: [{key: a}]}}]}}", "", "spec.extraResources[0].selector.matchLabels[0]"},
		"EnvironmentOther": {"other messages have no field", "environment-configs", "{}", `cannot merge environment data: cannot get data from environment config "a": data: no such field`, ""},
		"ExtraKey":         {"a message with the name of a list is about its source", "extra-resources", sources, `verifying and sorting extra resources: Required extra resource "b" not found`, "spec.extraResources[1]"},
		"ExtraUnset":       {"a message about a missing field of an extra source names it", "extra-resources", sources, "could not build extra resource requirements: spec.extraResources[1].ref must be set for type Reference", "spec.extraResources[1].ref"},
		"ExtraOther":       {"the name of a type in another message is not a key", "extra-resources", sources, `verifying and sorting extra resources: unsupported type "bool" for sorting`, ""},

		"SequenceTTL":       {"a duration is invalid", "sequencer:main", "{cacheTTL: soon}", "", "cacheTTL"},
		"SequenceCondition": {"a condition is invalid", "sequencer:main", "{rules: [{sequence: [a], condition: 'true'}, {sequence: [a], condition: no_}]}", "", "rules[1].condition"},
		"SequencePattern":   {"a pattern is invalid", "sequencer:main", "{rules: [{sequence: [a, '(']}]}", "", "rules[0].sequence[1]"},
		"SequenceBoth":      {"a rule has two fields that exclude each other", "sequencer:main", "{rules: [{sequence: [a]}, {sequence: [a], createOnly: true, deleteOnly: true}]}", "", "rules[1]"},
		"SequenceElsewhere": {"a result about the request has no field", "sequencer:main", "{resetCompositeReadiness: true, rules: [{sequence: [a, b]}]}", "", ""},

		"DummyNothing": {"an input has no response", "dummy", "{}", "", "response"},
		"DummyEnum":    {"a severity is unknown", "dummy", "{response: {results: [{severity: SEVERITY_NORMAL}, {severity: NORM}]}}", "", "response.results[1].severity"},
		"DummyField":   {"a field of a resource is unknown", "dummy", "{response: {desired: {resources: {a: {redy: READY_TRUE}}}}}", "", "response.desired.resources.a.redy"},
		"DummyType":    {"a message is a list", "dummy", "{response: {results: [{message: [a]}]}}", "", "response.results[0].message"},
		"DummyOther":   {"a result of the response has no field", "dummy", "{response: {results: [{severity: SEVERITY_FATAL, message: wrong}]}}", "", ""},

		"FilterName":      {"a pattern of a filter is invalid", "cel-filter", "{filters: [{name: a, expression: 'true'}, {name: '('}]}", "", "filters[1].name"},
		"FilterParse":     {"an expression has a fault in a line", "cel-filter", `{"filters": [{"name": "a", "expression": "true"}, {"expression": "true &&\n\"x\" for filter 7: == 1"}]}`, "", "filters[1].expression:2"},
		"FilterCheck":     {"an expression has an unknown variable", "cel-filter", `{"filters": [{"name": "a", "expression": "true"}, {"expression": "true ||\n  false ||\n  input.x"}]}`, "", "filters[1].expression:3"},
		"FilterEvaluate":  {"an expression fails", "cel-filter", `{"filters": [{"name": "a", "expression": "true"}, {"expression": "true &&\n1 / 0 == 1"}]}`, "", "filters[1].expression"},
		"FilterWhole":     {"a fault of the whole expression has no place", "cel-filter", "{filters: [{name: a, expression: 'true'}, {expression: '" + strings.Repeat("(", 300) + "'}]}", "", "filters[1].expression"},
		"FilterElsewhere": {"an unknown field of the input has its path", "cel-filter", "{filters: [{nam: a}]}", "", "filters[0].nam"},
	} {
		t.Run(name, func(t *testing.T) {
			function, version, _ := strings.Cut(tc.function, ":")
			req := request(t, "desired: {resources: {b: {}}}\ninput: "+tc.input)
			if tc.message == "" {
				tc.message = functiontest.Fatal(respond(t, named(t, function, version), req))
			}
			if got := locate(t, function, tc.message, req.GetInput()); tc.message == "" || got != tc.want {
				t.Errorf("%s: got %q for %s, want %q", tc.reason, got, tc.message, tc.want)
			}
		})
	}
}

// TestCanceled checks that functions end when the context does: a template without end, and loops over
// resources.
func TestCanceled(t *testing.T) {
	for name, input := range map[string]string{
		"cel-filter":         "{filters: [{name: a, expression: 'true'}]}",
		"sequencer":          "{rules: [{sequence: [a, b]}]}",
		"tag-manager":        "{}",
		"status-transformer": `{statusConditionHooks: [{matchers: [{resources: [{name: ^a$}], conditions: [{type: Ready, message: "(one)"}]}], createEvents: [{event: {message: "{{range 9000000000000000000}}{{end}}"}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause)
			defer cancel()
			if name != "status-transformer" {
				<-ctx.Done()
			}
			req := request(t, `{desired: {resources: {a: {}}}, observed: {resources: {a: {resource: {status: {conditions: [{type: Ready, message: one}]}}}}}, input: `+input+"}")
			e2e.ErrorIs(t, "a function ends with the cause of its context", e2e.Err(named(t, name, "").RunFunction(ctx, "f", req)), cause)
		})
	}
}

// fuzzed are the functions that FuzzFunctions calls. Their versions differ in the protocol or in fields.
var fuzzed = []string{
	"auto-ready:v0.7.0", "cel-filter:", "environment-configs:", "environment-configs:v0.6.0", "extra-resources:", "extra-resources:v0.1.0", "extra-resources:main",
	"sequencer:", "status-transformer:", "tag-manager:",
}

// FuzzFunctions looks for inputs and states, in JSON, with which a function panics, takes long, changes
// the request, returns a response that cannot be encoded, or returns different responses to the same
// request.
func FuzzFunctions(f *testing.F) {
	const (
		xr     = `{"spec": {"zone": "s", "active": true, "size": 3, "t": [{"a": 1}]}}`
		bucket = `{"apiVersion": "s3.aws.upbound.io/v1", "kind": "Bucket", "spec": null, "metadata": {"labels": 1, "annotations": {"a": null}}, "status": {"atProvider": {"tags": {"a": "b"}}, "conditions": [{"type": "Ready", "message": "x"}]}}`
		values = `{"apiextensions.crossplane.io/environment": {"k": ["a"]}, "a.b": {"c": {"__": "true"}}}`
		config = `{"apiVersion": "v1", "kind": "Usage", "metadata": {"name": "a", "namespace": "b"}, "data": {"x": {"z": [1, null]}, "w": 2}, "w": [1]}`
	)
	for i, inputs := range [][]string{
		{`{"celHealthCheckCustomization": {"s3.aws.upbound.io_v1_Bucket": "object.status.conditions.exists(x, x.message == 'x') && object == object"}, "celHealthCheckCustomizationFrom": "[a.b].c"}`, `{"ttl": "1s", "celHealthCheckCustomization": {"_v1_Usage": "string(object.num) in {'1': 2}"}}`},
		{`{"filters": [{"name": "a|b", "expression": "observed.composite.resource.spec.size == 3"}]}`, `{"filters": [{"name": "a", "expression": "desired.resources.all(n, desired.resources[n].ready != 2) && [1].map(x, [x, x]) == [] || 'a'.matches('(a|b)+')"}]}`},
		{`{"spec": {"environmentConfigs": [{"ref": {"name": "a"}, "toFieldPath": "a[0].b"}], "defaultData": {"x": {"y": 1}}}}`, `{"spec": {"environmentConfigs": [{"type": "Selector"}, {"type": "X"}], "policy": {"resolution": "Optional"}}}`},
		{`{"spec": {"environmentConfigs": [{"type": "Selector", "selector": {"mode": "Multiple", "minMatch": 1, "maxMatch": 2, "sortByFieldPath": "data.w", "matchLabels": [{"key": "zone", "valueFromFieldPath": "spec.zone", "fromFieldPathPolicy": "Optional"}, {"type": "Value", "key": "a", "value": "b"}]}}]}}`},
		{`{"spec": {"extraResources": [{"into": "a", "kind": "K", "apiVersion": "v1", "namespace": "n", "ref": {"name": "a"}}], "policy": {"resolution": "Optional"}}}`, `{"spec": {"extraResources": [{"type": "Selector", "into": "b", "selector": {"minMatch": 1, "maxMatch": 2, "sortByFieldPath": "w[0]", "matchLabels": [{"key": "z", "valueFromFieldPath": "spec.zone"}]}}]}}`},
		{`{"spec": {"extraResources": [{"type": "Selector", "into": "a", "selector": {"matchLabels": [{"key": "z", "valueFromFieldPath": "spec"}]}}]}}`},
		{`{"spec": {"extraResources": [{"type": "Selector", "into": "a", "selector": {"matchLabels": [{"key": "z", "valueFromFieldPath": "spec", "fromFieldPathPolicy": "Optional"}]}}, {"type": "X", "into": "b"}], "context": {"key": "k"}}}`},
		{`{"rules": [{"sequence": ["a", "b.*", "^c"], "condition": "observed.composite.resource.spec.active"}], "resetCompositeReadiness": true}`, `{"enableDeletionSequencing": true, "usageVersion": "v1", "rules": [{"sequence": [".*", "b|c$"]}, null]}`, `{"cacheTTL": "-1h", "rules": [{"deleteOnly": true, "sequence": ["(", ""]}]}`},
		{`{"statusConditionHooks": [{"matchers": [{"type": "AllResourcesMatchAllConditions", "resources": [{"name": "^a"}], "includeCompositeAsResource": true, "includeExtraResources": true, "conditions": [{"type": "Ready", "message": "(?P<X>.)"}]}], "setConditions": [{"condition": {"type": "a", "message": "{{range 3}}{{$.X}}{{end}}"}}], "createEvents": [{"event": {"message": "{{printf \"%9d\" 1}}"}}]}]}`},
		{`{"addTags": [{"type": "FromCompositeFieldPath", "fromFieldPath": "spec.t[0]", "policy": "Retain"}], "removeTags": [{"keys": ["a"]}]}`, `{"ignoreTags": [{"type": "FromEnvironmentFieldPath", "fromFieldPath": "k"}, {"keys": [null]}]}`, `{"addTags": null, "ignoreTags": [{"type": "FromCompositeFieldPath"}]}`},
	} {
		for _, input := range inputs {
			f.Add(uint8(i), input, xr, bucket, config, values)
		}
	}
	f.Fuzz(func(t *testing.T, index uint8, input, xr, resource, found, values string) {
		name, version, _ := strings.Cut(fuzzed[int(index)%len(fuzzed)], ":")
		req, err := functiontest.ParseRequest(fmt.Appendf(nil, `{"input": %[1]s, "context": %[5]s,
"observed": {"composite": {"resource": %[2]s}, "resources": {"a": {"resource": %[3]s}, "b": {}, "ca": {"resource": %[4]s}}},
"desired": {"composite": {"resource": %[2]s}, "resources": {"a": {"resource": %[3]s, "ready": "READY_TRUE"}, "b": {"resource": %[3]s}, "ca": {}, "d": {}}},
"requiredResources": {"a": {"items": [{"resource": %[4]s}]}, "b": {"items": [{"resource": %[4]s}, {}]}, "environment-config-0": {"items": [{"resource": %[4]s}]}},
"extraResources": {"a": {"items": [{"resource": %[4]s}, {}]}, "environment-config-0": {"items": [{"resource": %[4]s}]}}}`, input, xr, resource, found, values))
		if err != nil {
			t.Skip("not JSON")
		}
		b := e2e.Must(builtin.Find(name))(t)
		o := builtin.Options{Package: "acme/function:" + version}
		if name == "auto-ready" {
			o.Settings = builtin.Settings{"auto-ready.feature-gates": "CELHealthcheckCustomizations=true"}
		}
		r := e2e.Must(b.Configured(o))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		before := proto.CloneOf(req)
		got, err := r.RunFunction(ctx, "f", req)
		again, err2 := r.RunFunction(ctx, "f", req)
		if !proto.Equal(got, again) || fmt.Sprint(err) != fmt.Sprint(err2) || !proto.Equal(before, req) || err != nil && name != "sequencer" {
			t.Errorf("%s: got %v and %v, then %v and %v", name, got, err, again, err2)
		}
		e2e.NoError(t, e2e.Err(proto.Marshal(got)))
	})
}

// BenchmarkFunctions measures a typical call of each function, with ten resources, and with a hundred
// where the time depends on their number.
func BenchmarkFunctions(b *testing.B) {
	// resources returns n resources. %d in the text of one stands for its number.
	resources := func(n int, text string) string {
		all := "{"
		for i := range n {
			all += fmt.Sprintf("r%d: {resource: %s}, ", i, strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
		}
		return all + "}"
	}
	const (
		conditions = `status: {conditions: [{type: Synced, status: "True", reason: ReconcileSuccess, message: "r is fine", lastTransitionTime: "2026-01-02T03:04:05Z"}, {type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-01-02T03:04:05Z", observedGeneration: 2}]}`
		bucket     = "{apiVersion: s3.aws.upbound.io/v1, kind: Bucket, metadata: {name: a%d, namespace: shop, labels: {zone: s}, annotations: {a: b}}, spec: {masts: %d, forProvider: {region: eu-north-1, tags: {owner: ada, old: x}}}, data: {k%d: {x: 1, y: [a, b]}, network: {vpc: v, subnets: [a, b, c]}}, status: {atProvider: {tags: {external: e}}}}"
		labels     = "matchLabels: [{key: zone, valueFromFieldPath: spec.zone}]}}]"
	)
	list := func(n int) string {
		return "{items: [" + strings.Repeat("{resource: "+strings.ReplaceAll(bucket, "%d", "1")+"}, ", n) + "]}"
	}
	withStatus := strings.Replace(bucket, "status: {atProvider: {tags: {external: e}}}", conditions, 1)
	for _, n := range []int{10, 100} {
		for name, text := range map[string]string{
			"auto-ready":          "observed: {resources: " + resources(n, withStatus) + "}\ndesired: {resources: " + resources(n, bucket) + "}",
			"auto-ready/pods":     "observed: {resources: " + resources(n, readyPod) + "}\ndesired: {resources: " + resources(n, "{}") + "}",
			"auto-ready/cel":      `input: {celHealthCheckCustomization: {s3.aws.upbound.io_v1_Bucket: "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"}}` + "\nobserved: {resources: " + resources(n, withStatus) + "}\ndesired: {resources: " + resources(n, bucket) + "}",
			"cel-filter":          "input: {filters: [{name: 'r[0-4]', expression: observed.composite.resource.spec.size == 3}, {name: r5, expression: has(observed.composite.resource.spec.backup) && observed.composite.resource.spec.backup == true}, {name: 'r.*', expression: 'desired.resources.all(n, desired.resources[n].ready != 2)'}]}\nobserved: {composite: {resource: {spec: {size: 3}}}}\ndesired: {resources: " + resources(n, "{}") + "}",
			"environment-configs": "input: {spec: {defaultData: {a: {b: c}}, environmentConfigs: [{ref: {name: a}}, {type: Selector, selector: {mode: Multiple, " + labels + "}}\nobserved: {composite: {resource: {spec: {zone: s}}}}\nrequiredResources: {environment-config-0: " + list(1) + ", environment-config-1: " + list(n) + "}",
			"extra-resources":     "input: {spec: {extraResources: [{ref: {name: a}, into: b, kind: K}, {type: Selector, into: fleet, kind: K, selector: {" + labels + "}}\nobserved: {composite: {resource: {spec: {zone: s}}}}\nrequiredResources: {b: " + list(1) + ", fleet: " + list(n) + "}",
			"sequencer":           "input: {enableDeletionSequencing: true, rules: [{sequence: [r.*0, 'r.*[1-8]', r.*9], condition: observed.composite.resource.spec.size == 3}]}\nobserved: {composite: {resource: {spec: {size: 3}}}, resources: " + resources(n/2, bucket) + "}\ndesired: {resources: " + strings.ReplaceAll(resources(n, bucket), ": {resource", ": {ready: READY_TRUE, resource") + "}",
			"status-transformer":  `input: {statusConditionHooks: [{matchers: [{resources: [{name: ^r}], conditions: [{type: Ready, status: "True"}, {type: Synced, message: '(?P<Who>\S+) is fine'}]}], setConditions: [{condition: {type: A, status: "True", reason: R, message: "{{ .Who }} works"}}], createEvents: [{event: {message: "{{ .Who }}"}}]}]}` + "\nobserved: {resources: " + resources(n, withStatus) + "}",
			"tag-manager":         "input: {addTags: [{type: FromValue, policy: Retain, tags: {team: shop, tier: gold}}, {type: FromCompositeFieldPath, fromFieldPath: spec.tags}], ignoreTags: [{keys: [external]}], removeTags: [{keys: [old]}]}\nobserved: {composite: {resource: {spec: {tags: {zone: north}}}}, resources: " + resources(n, bucket) + "}\ndesired: {resources: " + resources(n, bucket) + "}",
		} {
			b.Run(fmt.Sprintf("%s/resources=%d", name, n), func(b *testing.B) {
				function, _, _ := strings.Cut(name, "/")
				r, req := named(b, function, ""), request(b, text)
				if name == "auto-ready/cel" {
					r = withCEL
				}
				b.ReportAllocs()
				for b.Loop() {
					rsp, err := r.RunFunction(b.Context(), "f", req)
					if err != nil || functiontest.Fatal(rsp) != "" || strings.Contains(results(rsp), "Delaying") {
						b.Fatal(rsp, err)
					}
				}
			})
		}
	}
}
