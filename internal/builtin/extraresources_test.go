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

const extraResourcesGolden = "../../testdata/golden/extra-resources"

func TestExtraResourcesGolden(t *testing.T) {
	functiontest.Golden(t, extraResourcesGolden, builtin.NewExtraResources(""))
}

// TestExtraResourcesCrashes checks inputs that crash the real function. In the builtin, they
// cause a fatal result without requirements, which names the field.
func TestExtraResourcesCrashes(t *testing.T) {
	cases := map[string]string{
		"ref-nil":      "could not build extra resource requirements: spec.extraResources[0].ref must be set for type Reference",
		"selector-nil": "could not build extra resource requirements: spec.extraResources[0].selector must be set for type Selector",
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, builtin.NewExtraResources(""), functiontest.Request(t, filepath.Join(extraResourcesGolden+"-crash", name, "request.yaml")))
			if got := functiontest.Fatal(rsp); got != want || rsp.GetRequirements() != nil {
				t.Errorf("got %s and requirements %v, want %s", got, rsp.GetRequirements(), want)
			}
		})
	}
}

// TestExtraResourcesRules tests rules that no golden case has, and the branch main. want is the
// context in YAML, or else the message of the fatal result.
func TestExtraResourcesRules(t *testing.T) {
	const (
		key      = "apiextensions.crossplane.io/extra-resources"
		selects  = "matchLabels: [{type: Value, key: k, value: v}]"
		verify   = "verifying and sorting extra resources: "
		bad      = "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.Input from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.Input: json: cannot unmarshal Go value of type v1beta1."
		twice    = "{extraResources: [{type: Selector, into: b, selector: {sortByFieldPath: w, " + selects + "}}, {type: Selector, into: b, selector: {maxMatch: 1, sortByFieldPath: absent, " + selects + "}}]}"
		unsorted = "required: {b: {items: [{resource: {w: 2}}, {resource: {w: 1}}]}}"
		none     = "{extraResources: [{type: Selector, into: b, selector: {" + selects + "}}]}"
		lists    = "{extraResources: [{type: Selector, into: b, selector: {sortByFieldPath: w, " + selects + "}}]}"
		old      = "{extraResources: [{into: b, namespace: bay, ref: {name: a}}]}"
	)
	cases := map[string]struct{ reason, version, spec, required, want string }{
		"SortedInPlace": {"a source sees the order of an earlier source with the same key", "", twice, unsorted, "{b: [{w: 1}, {w: 2}, {w: 1}]}"},
		"NoBody":        {"an item without a body is an empty object", "", "{extraResources: [{into: b, ref: {name: a}}]}", "required: {b: {items: [{}]}}", "{b: [{}]}"},
		"MaxZero":       {"maxMatch 0 leaves no key", "", "{extraResources: [{type: Selector, into: b, selector: {maxMatch: 0, " + selects + "}}]}", unsorted, "{}"},
		"Lists":         {"lists cannot be sorted", "", lists, "required: {b: {items: [{resource: {w: [1]}}, {resource: {}}]}}", verify + `unsupported type "[]interface {}" for sorting`},
		"OneList":       {"one item needs no sorting", "", lists, "required: {b: {items: [{resource: {w: [1]}}]}}", "{b: [{w: [1]}]}"},
		"IntoEmpty":     {"an empty key is a key", "", "{extraResources: [{into: '', ref: {name: a}}]}", "required: {'': {items: [{resource: {w: 1}}]}}", "{'': [{w: 1}]}"},

		"BranchLists":   {"the branch names the kind of values that cannot be sorted", "main", lists, "required: {b: {items: [{resource: {w: [1]}}, {resource: {}}]}}", verify + `unsupported type "slice" for sorting`},
		"BranchNone":    {"in the branch a selector without resources has an empty list", "main", none, "required: {b: {}}", "{b: []}"},
		"BranchTwice":   {"in the branch the last source with a key wins", "main", twice, unsorted, "{b: [{w: 1}]}"},
		"BranchKey":     {"the branch has a field for the context key", "v0.4.0-rc.1", "{extraResources: [], context: {key: mine}}", "required: {x: {}}", "mine"},
		"BranchKeyNull": {"the context key has a default", "main", "{extraResources: [], context: {}}", "required: {x: {}}", "{}"},
		"OldNamespace":  {"v0.1.0 has no namespace", "v0.1.0", old, "required: {}", bad + `ResourceSource: unknown name "namespace"`},
		"OldProtocol":   {"v0.2.0 reads extraResources", "v0.2.0", old, "extra: {b: {items: [{resource: {w: 1}}]}}", "{b: [{w: 1}]}"},
		"OldRequired":   {"v0.2.0 does not read requiredResources", "v0.2.0", old, "required: {b: {items: [{resource: {w: 1}}]}}", "absent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, builtin.NewExtraResources(tc.version), extraResourcesRequest(t, tc.spec, tc.required))
			fields := rsp.GetContext().AsMap()
			var got any = functiontest.Fatal(rsp)
			var want any = tc.want
			switch {
			case got != "":
			case fields[key] == nil && len(fields) == 0:
				got = "absent"
			case fields[key] == nil:
				got = fmt.Sprint(strings.Join(extraResourcesKeys(fields), " "))
			default:
				got = fields[key]
				if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOrderOfEqualValues: with more than 12 items, equal values are in the order in which
// sort.Slice of the real function left them. testdata of the corpus has no such case, so the
// names are those that sort.Slice gives for 25 items with four values.
func TestExtraResourcesOrderOfEqualValues(t *testing.T) {
	items := ""
	for i := range 25 {
		items += fmt.Sprintf("{resource: {metadata: {name: i%02d}, w: %d}}, ", i, i*7%4)
	}
	spec := "{extraResources: [{type: Selector, into: b, selector: {sortByFieldPath: w, matchLabels: [{type: Value, key: k, value: v}]}}]}"
	rsp := respond(t, builtin.NewExtraResources(""), extraResourcesRequest(t, spec, "required: {b: {items: ["+items+"]}}"))
	list := rsp.GetContext().GetFields()["apiextensions.crossplane.io/extra-resources"].GetStructValue().GetFields()["b"].GetListValue()
	stable, last := true, ""
	lastW := -1.0
	for _, v := range list.GetValues() {
		f := v.GetStructValue().GetFields()
		name, w := f["metadata"].GetStructValue().GetFields()["name"].GetStringValue(), f["w"].GetNumberValue()
		if w < lastW {
			t.Fatalf("not sorted: %v", list)
		}
		stable = stable && (w > lastW || name > last)
		last, lastW = name, w
	}
	if len(list.GetValues()) != 25 || stable {
		t.Errorf("got %d items, stable: %t", len(list.GetValues()), stable)
	}
}

// TestLimit: sources with the same key cannot multiply resources without limit.
func TestExtraResourcesLimit(t *testing.T) {
	const source = "{into: b, type: Ignored}, "
	req := extraResourcesRequest(t, "{extraResources: ["+strings.Repeat(source, 1100)+"]}", "required: {b: {items: []}}")
	req.GetRequiredResources()["b"].Items = make([]*fnv1.Resource, 1000)
	if got, want := functiontest.Fatal(respond(t, builtin.NewExtraResources(""), req)), "verifying and sorting extra resources: the extra resources are more than 1048576"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExtraResourcesLocate(t *testing.T) {
	const input = `{"spec": {"extraResources": [{"into": "a"}, {"into": "b"}, {"into": "bool"}]}}`
	cases := map[string]struct{ reason, fatal, want string }{
		"Key":   {"a message with a key is about its source", `verifying and sorting extra resources: Required extra resource "b" not found`, "spec.extraResources[1]"},
		"Unset": {"a message about a missing field names it", "could not build extra resource requirements: spec.extraResources[1].ref must be set for type Reference", "spec.extraResources[1].ref"},
		"Other": {"the name of a type in another message is not a key", `verifying and sorting extra resources: unsupported type "bool" for sorting`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := builtin.LocateExtraSource(tc.fatal, []byte(input)); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// FuzzExtraResourcesFunction looks for a spec of an input, an observed XR or required resources
// that cause a panic, a response that cannot be encoded, or one that is not deterministic.
func FuzzExtraResourcesFunction(f *testing.F) {
	f.Add("{extraResources: [{into: a, kind: K, apiVersion: v1, namespace: n, ref: {name: a}}], policy: {resolution: Optional}}", "required: {a: {items: [{resource: {a: 1}}]}}")
	f.Add("{extraResources: [{type: Selector, into: a, selector: {minMatch: 1, maxMatch: 2, sortByFieldPath: 'w[0]', matchLabels: [{key: z, valueFromFieldPath: spec.zone}]}}]}", "required: {a: {items: [{resource: {w: [1]}}, {}]}}")
	f.Add("{extraResources: [{type: Selector, into: a, selector: {matchLabels: [{key: z, valueFromFieldPath: spec, fromFieldPathPolicy: Optional}]}}, {type: X, into: b}], context: {key: k}}", "extra: {b: {}}")
	f.Fuzz(func(t *testing.T, spec, required string) {
		req, err := extraResourcesParse(spec, required)
		if err != nil {
			return
		}
		for _, v := range []string{"", "v0.1.0", "main"} {
			first, second := respond(t, builtin.NewExtraResources(v), req), respond(t, builtin.NewExtraResources(v), req)
			if _, err := protojson.Marshal(first); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
				t.Errorf("two calls differ:\n%s", diff)
			}
		}
	})
}

// BenchmarkExtraResourcesRun measures the second pass for ten resources: five by name and five
// by label.
func BenchmarkExtraResourcesRun(b *testing.B) {
	spec, required, fleet := "{extraResources: [", "required: {", ""
	for i := range 5 {
		body := fmt.Sprintf("{resource: {apiVersion: dock.example.net/v1, kind: Boat, metadata: {name: n%d, labels: {zone: s}}, spec: {masts: %d, names: [a, b], owner: {name: x}}}}", i, i)
		spec += fmt.Sprintf("{apiVersion: dock.example.net/v1, kind: Boat, ref: {name: n%d}, into: n%d}, ", i, i)
		required += fmt.Sprintf("n%d: {items: [%s]}, ", i, body)
		fleet += body + ", "
	}
	spec += "{type: Selector, apiVersion: dock.example.net/v1, kind: Boat, into: fleet, selector: {sortByFieldPath: spec.masts, matchLabels: [{key: zone, valueFromFieldPath: spec.zone}]}}]}"
	req := extraResourcesRequest(b, spec, required+"fleet: {items: ["+fleet+"]}}")
	r := builtin.NewExtraResources("")
	b.ReportAllocs()
	for b.Loop() {
		rsp, err := r.RunFunction(b.Context(), "f", req)
		if err != nil || len(rsp.GetResults()) > 0 || rsp.GetContext() == nil {
			b.Fatal(rsp, err)
		}
	}
}

// extraResourcesRequest returns a request with the spec of an input, and the required
// resources: requiredResources after "required: " or extraResources after "extra: ".
func extraResourcesRequest(t testing.TB, spec, required string) *fnv1.RunFunctionRequest {
	t.Helper()
	req, err := extraResourcesParse(spec, required)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func extraResourcesParse(spec, required string) (*fnv1.RunFunctionRequest, error) {
	for short, field := range map[string]string{"required: ": "requiredResources: ", "extra: ": "extraResources: "} {
		if rest, ok := strings.CutPrefix(required, short); ok {
			required = field + rest
			break
		}
	}
	return functiontest.ParseRequest([]byte("observed: {composite: {resource: {spec: {zone: s}}}}\ninput: {spec: " + spec + "}\n" + required))
}

func extraResourcesKeys(m map[string]any) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	return all
}
