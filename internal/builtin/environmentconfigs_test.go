package builtin_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const environmentConfigsGolden = "../../testdata/golden/environment-configs"

func TestEnvironmentConfigsGolden(t *testing.T) {
	functiontest.Golden(t, environmentConfigsGolden, builtin.NewEnvironmentConfigs(""))
}

// TestEnvironmentConfigsCrashes checks inputs that crash the real function. In the builtin,
// they cause a fatal result without requirements, which names the field.
func TestEnvironmentConfigsCrashes(t *testing.T) {
	cases := map[string]string{
		"label-path-nil":  "cannot build requirements: ValueFromFieldPath cannot be nil for type 'FromCompositeFieldPath'",
		"label-value-nil": "cannot build requirements: Value cannot be nil for type 'Value'",
		"ref-nil":         "cannot build requirements: spec.environmentConfigs[0].ref must be set for type Reference",
		"selector-nil":    "cannot build requirements: spec.environmentConfigs[0].selector must be set for type Selector",
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, builtin.NewEnvironmentConfigs(""), functiontest.Request(t, filepath.Join(environmentConfigsGolden+"-crash", name, "request.yaml")))
			if got := functiontest.Fatal(rsp); got != want || rsp.GetRequirements() != nil {
				t.Errorf("got %s and requirements %v, want %s", got, rsp.GetRequirements(), want)
			}
		})
	}
}

// TestEnvironmentConfigsRules tests rules that no golden case has. want is the environment
// without apiVersion and kind, or else the message of the fatal result.
func TestEnvironmentConfigsRules(t *testing.T) {
	const one = "{environmentConfigs: [{ref: {name: a}}]}"
	cases := map[string]struct{ reason, spec, items, want string }{
		"TypeEmpty":    {"an empty type is Reference", "{environmentConfigs: [{type: '', ref: {name: a}}]}", "[{data: {x: 1}}]", "{x: 1}"},
		"DataNull":     {"data that is null has no effect", one, "[{data: null}]", "{}"},
		"DataString":   {"data that is a string is an error", one, "[{metadata: {name: a}, data: x}]", `cannot merge environment data: cannot get data from environment config "a": cannot unmarshal value from JSON: json: cannot unmarshal string into Go value of type map[string]interface {}`},
		"DataNumber":   {"data that is a number is an error", one, "[{data: 1}]", `cannot merge environment data: cannot get data from environment config "": cannot unmarshal value from JSON: json: cannot unmarshal number into Go value of type map[string]interface {}`},
		"NoBody":       {"an item without a body has no data", one, "[null]", `cannot merge environment data: cannot get data from environment config "": data: no such field`},
		"KindNumber":   {"a kind that is not a text counts as missing", one, "[{data: {kind: 7}}]", "{}"},
		"Slashes":      {"an apiVersion with two slashes replaces the kind", one, "[{data: {apiVersion: a/b/c, kind: K}}]", "{}"},
		"DefaultNull":  {"null in defaultData is a value", "{defaultData: {a: null, b: 2, c: [1.5]}, environmentConfigs: [{ref: {name: a}}]}", "[{data: {}}]", "{a: null, b: 2, c: [1.5]}"},
		"ModeEmpty":    {"an empty mode is Single", "{environmentConfigs: [{type: Selector, selector: {mode: '', matchLabels: [{type: Value, key: k, value: v}]}}]}", "[{data: {x: 1}}]", "{x: 1}"},
		"ModeUnknown":  {"an unknown mode is an error", "{environmentConfigs: [{type: Selector, selector: {mode: All, matchLabels: [{type: Value, key: k, value: v}]}}]}", "[{data: {x: 1}}]", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: unknown selector mode "All"`},
		"MaxZero":      {"maxMatch 0 leaves no EnvironmentConfig", "{environmentConfigs: [{type: Selector, selector: {mode: Multiple, maxMatch: 0, matchLabels: [{type: Value, key: k, value: v}]}}]}", "[{data: {x: 1}}]", "{}"},
		"SortMap":      {"values that are objects cannot be sorted", "{environmentConfigs: [{type: Selector, selector: {mode: Multiple, sortByFieldPath: data, matchLabels: [{type: Value, key: k, value: v}]}}]}", "[{data: {x: 1}}, {data: {}}]", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: unsupported type "map" for sorting`},
		"SortNotAList": {"a sort path through a text is an error", "{environmentConfigs: [{type: Selector, selector: {mode: Multiple, sortByFieldPath: data.a.b, matchLabels: [{type: Value, key: k, value: v}]}}]}", "[{data: {a: x}}]", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: data.a: not an object`},
		"PathStar":     {"[*] in toFieldPath is a key", "{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[*]'}]}", "[{data: {x: 1}}]", "{a: {'*': {x: 1}}}"},
		"PathList":     {"data of any type is set at toFieldPath, after nulls", "{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[2]'}]}", "[{data: [1]}]", "{a: [null, null, [1]]}"},
		"PathIndex":    {"an index cannot be set in an object", "{environmentConfigs: [{ref: {name: a}, toFieldPath: '[0]'}]}", "[{metadata: {name: far}, data: {}}]", `cannot merge environment data: cannot get data from environment config far into path "[0]"`},
		"PathFar":      {"an index above 1024 is an error", "{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[1025]'}]}", "[{data: {}}]", `cannot merge environment data: cannot get data from environment config  into path "a[1025]"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, builtin.NewEnvironmentConfigs(""), environmentConfigsRequest(t, "", tc.spec, tc.items))
			got := environmentConfigsEnvironment(rsp)
			if f := functiontest.Fatal(rsp); f != "" {
				got = f
			}
			want := any(tc.want)
			if strings.HasPrefix(tc.want, "{") {
				m := map[string]any{}
				if err := yaml.Unmarshal([]byte(tc.want), &m); err != nil {
					t.Fatal(err)
				}
				m["apiVersion"], m["kind"] = "internal.crossplane.io/v1alpha1", "Environment"
				want = m
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEnvironmentConfigsVersions compares versions before v0.7.0 with later ones.
func TestEnvironmentConfigsVersions(t *testing.T) {
	const found = "[{metadata: {name: a}, data: {x: 1}}]"
	cases := map[string]struct {
		reason, version, protocol, spec, items string
		want, fatal                            string
	}{
		"Old":       {"v0.6.0 uses the fields extraResources", "v0.6.0", "extraResources", "{environmentConfigs: [{ref: {name: a}}]}", found, "extraResources x", ""},
		"OldOther":  {"v0.6.0 does not read requiredResources", "v0.6.0", "requiredResources", "{environmentConfigs: [{ref: {name: a}}]}", found, "extraResources", ""},
		"OldText":   {"v0.6.0 says extra resource", "v0.6.0", "extraResources", "{environmentConfigs: [{ref: {name: a}}]}", "[{}, {}]", "extraResources", `cannot get selected environment configs: cannot process environment config "a" by reference, "environment-config-0": expected exactly one extra resource "a", got 2`},
		"OldSingle": {"v0.6.0 says extra resource for a selector", "v0.6.0", "extraResources", "{environmentConfigs: [{type: Selector, selector: {matchLabels: [{type: Value, key: k, value: v}]}}]}", "[]", "extraResources", `cannot get selected environment configs: cannot process environment config "environment-config-0" by selector: expected exactly one extra resource, got 0`},
		"OldPath":   {"v0.6.0 does not know toFieldPath, even if it is null", "v0.6.0", "extraResources", "{environmentConfigs: [{ref: {name: a}}, {ref: {name: a}, toFieldPath: null}]}", found, "", `cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.Input from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Input: json: cannot unmarshal Go value of type v1beta1.EnvironmentSource: unknown name "toFieldPath"`},
		"New":       {"v0.7.0 uses the field resources", "v0.7.0", "requiredResources", "{environmentConfigs: [{ref: {name: a}}]}", found, "resources x", ""},
		"Branch":    {"the branch is like the newest release", "main", "requiredResources", "{environmentConfigs: [{ref: {name: a}}]}", found, "resources x", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, builtin.NewEnvironmentConfigs(tc.version), environmentConfigsRequest(t, tc.protocol, tc.spec, tc.items))
			asks, err := protojson.Marshal(rsp.GetRequirements())
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			if err := yaml.Unmarshal(asks, &fields); err != nil {
				t.Fatal(err)
			}
			got := ""
			for field := range fields {
				got += field
			}
			if env, ok := environmentConfigsEnvironment(rsp).(map[string]any); ok && env["x"] == 1.0 {
				got += " x"
			}
			if got != tc.want || functiontest.Fatal(rsp) != tc.fatal {
				t.Errorf("%s: got %q and %s, want %q and %s", tc.reason, got, functiontest.Fatal(rsp), tc.want, tc.fatal)
			}
		})
	}
}

// TestEmpty: an empty map of required resources is the first pass, as over gRPC.
func TestEnvironmentConfigsEmpty(t *testing.T) {
	req := environmentConfigsRequest(t, "", "{environmentConfigs: [{ref: {name: a}}]}", "[]")
	req.RequiredResources = map[string]*fnv1.Resources{}
	if rsp := respond(t, builtin.NewEnvironmentConfigs(""), req); len(rsp.GetResults()) > 0 || rsp.GetContext() != nil {
		t.Errorf("got %v", rsp)
	}
}

func TestEnvironmentConfigsLocate(t *testing.T) {
	cases := map[string]struct{ reason, fatal, want string }{
		"Key":   {"a message with a key is about its source", `cannot get selected environment configs: cannot process environment config "b" by reference, "environment-config-1": Required environment config "b" not found`, "spec.environmentConfigs[1]"},
		"Unset": {"a message about a missing field names it", "cannot build requirements: spec.environmentConfigs[2].ref must be set for type Reference", "spec.environmentConfigs[2].ref"},
		"Other": {"other messages have no field", `cannot merge environment data: cannot get data from environment config "a": data: no such field`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := builtin.LocateEnvironmentSource(tc.fatal, nil); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// FuzzEnvironmentConfigsFunction looks for an input, an observed XR or items that cause a
// panic, a response that cannot be encoded, or one that is not deterministic.
func FuzzEnvironmentConfigsFunction(f *testing.F) {
	f.Add("{environmentConfigs: [{ref: {name: a}, toFieldPath: 'a[0].b'}], defaultData: {x: {y: 1}}}", "{spec: {zone: s}}", "[{metadata: {name: a}, data: {x: {z: [1, null]}}}]")
	f.Add("{environmentConfigs: [{type: Selector, selector: {mode: Multiple, minMatch: 1, maxMatch: 2, sortByFieldPath: 'data.w', matchLabels: [{key: zone, valueFromFieldPath: spec.zone, fromFieldPathPolicy: Optional}, {type: Value, key: a, value: b}]}}]}", "{spec: {zone: 1}}", "[{data: {w: 2}}, {data: {w: 1}}, {}]")
	f.Add("{environmentConfigs: [{type: Selector}, {type: X}], policy: {resolution: Optional}}", "{}", "[null]")
	versions := []string{"", "v0.6.0"}
	f.Fuzz(func(t *testing.T, spec, xr, items string) {
		req, err := environmentConfigsParse("", spec, items, xr)
		if err != nil {
			return
		}
		for _, v := range versions {
			first, second := respond(t, builtin.NewEnvironmentConfigs(v), req), respond(t, builtin.NewEnvironmentConfigs(v), req)
			if _, err := protojson.Marshal(first); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
				t.Errorf("two calls differ:\n%s", diff)
			}
		}
	})
}

// BenchmarkEnvironmentConfigsRun measures the second pass of ten EnvironmentConfigs, five by
// name and five by label.
func BenchmarkEnvironmentConfigsRun(b *testing.B) {
	spec, items := "{defaultData: {a: {b: c}}, environmentConfigs: [", "["
	for i := range 5 {
		spec += fmt.Sprintf("{ref: {name: a%d}}, ", i)
		items += fmt.Sprintf("{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: a%d, labels: {zone: s}}, data: {k%d: {x: 1, y: [a, b]}, network: {vpc: v, subnets: [a, b, c]}}}, ", i, i)
	}
	spec += "{type: Selector, selector: {mode: Multiple, matchLabels: [{key: zone, valueFromFieldPath: spec.zone}]}}]}"
	req := environmentConfigsRequest(b, "", spec, items+"]")
	all := req.GetRequiredResources()["environment-config-0"].GetItems()
	req.RequiredResources = map[string]*fnv1.Resources{"environment-config-5": {Items: all}}
	for i, item := range all {
		req.RequiredResources[fmt.Sprintf("environment-config-%d", i)] = &fnv1.Resources{Items: []*fnv1.Resource{item}}
	}
	r := builtin.NewEnvironmentConfigs("")
	b.ReportAllocs()
	for b.Loop() {
		rsp, err := r.RunFunction(b.Context(), "f", req)
		if err != nil || len(rsp.GetResults()) > 0 || rsp.GetContext() == nil {
			b.Fatal(rsp, err)
		}
	}
}

// environmentConfigsRequest returns a request with the spec of an input and the items of all
// its sources, in YAML. protocol is the field with the items; "" is requiredResources.
func environmentConfigsRequest(t testing.TB, protocol, spec, items string) *fnv1.RunFunctionRequest {
	t.Helper()
	req, err := environmentConfigsParse(protocol, spec, items, "{spec: {zone: s}}")
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func environmentConfigsParse(protocol, spec, items, xr string) (*fnv1.RunFunctionRequest, error) {
	var in, observed, bodies any
	for text, into := range map[string]*any{spec: &in, xr: &observed, items: &bodies} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			return nil, err
		}
	}
	list, _ := bodies.([]any)
	resources := []any{}
	for _, body := range list {
		resources = append(resources, map[string]any{"resource": body})
	}
	if protocol == "" {
		protocol = "requiredResources"
	}
	text, err := yaml.Marshal(map[string]any{
		"input":    map[string]any{"spec": in},
		"observed": map[string]any{"composite": map[string]any{"resource": observed}},
		protocol:   map[string]any{"environment-config-0": map[string]any{"items": resources}},
	})
	if err != nil {
		return nil, err
	}
	return functiontest.ParseRequest(text)
}

func environmentConfigsEnvironment(rsp *fnv1.RunFunctionResponse) any {
	return rsp.GetContext().GetFields()["apiextensions.crossplane.io/environment"].AsInterface()
}
