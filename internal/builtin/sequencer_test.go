package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const sequencerGolden = "../../testdata/golden/"

func TestSequencerGolden(t *testing.T) {
	functiontest.Golden(t, sequencerGolden+"sequencer", builtin.NewSequencer(""))
}

// TestSequencerGoldenError compares the builtin with the real function where that returns a gRPC error.
func TestSequencerGoldenError(t *testing.T) {
	req := functiontest.Request(t, sequencerGolden+"sequencer-grpc-error/deletion-bad-regex/request.yaml")
	rsp, err := builtin.NewSequencer("").RunFunction(t.Context(), "function-sequencer", req)
	const message = "cannot compile regex b(: error parsing regexp: missing closing ): `^b($`"
	if got := status.Convert(err); rsp != nil || got.Code() != codes.Unknown || got.Message() != message {
		t.Errorf("got %v, %v", rsp, err)
	}
	if want := `calling function "function-sequencer": Unknown: ` + message; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// TestSequencerCrashes checks inputs that crash the real function. In the builtin, they cause a fatal
// result.
func TestSequencerCrashes(t *testing.T) {
	cases := map[string]string{
		"no-desired":         "cannot set desired composed resources: the request has no desired state",
		"reset-no-composite": "cannot reset the readiness of the composite resource: the request has no desired composite resource",
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			req := functiontest.Request(t, filepath.Join(sequencerGolden+"sequencer-crash", name, "request.yaml"))
			rsp := respond(t, builtin.NewSequencer(""), req)
			if got := rsp.GetResults()[len(rsp.GetResults())-1]; got.GetSeverity() != fnv1.Severity_SEVERITY_FATAL || got.GetMessage() != want {
				t.Errorf("got %v, want %s", got, want)
			}
			if !proto.Equal(rsp.GetDesired(), req.GetDesired()) {
				t.Errorf("the desired state was changed: %v", rsp.GetDesired())
			}
		})
	}
}

// sequencerRequest parses a request from the YAML of its parts. The input is that of
// function-sequencer.
func sequencerRequest(t testing.TB, input, desired, observed string) *fnv1.RunFunctionRequest {
	t.Helper()
	text := fmt.Sprintf("{input: %s, desired: {composite: {resource: {}}, resources: %s}, observed: {composite: {resource: {spec: {active: true}}}, resources: %s}}", input, desired, observed)
	j, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	req := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(j, req); err != nil {
		t.Fatal(err)
	}
	return req
}

const (
	sequencerReady    = "ready: READY_TRUE, resource: {}"
	sequencerObserved = "{a: {resource: {kind: A, metadata: {name: x}}}, b: {resource: {kind: B, metadata: {name: z}}}}"
	sequencerWait     = `Delaying creation of resource(s) matching "b" because "a" is not fully ready (0 of 1)`
)

// TestSequencerRules tests rules that no golden case has. want are the names of the desired resources
// and the texts of the results.
func TestSequencerRules(t *testing.T) {
	cases := map[string]struct{ reason, input, desired, observed, want string }{
		"Self":          {"a pattern may match its own predecessor, which is removed too", "{rules: [{sequence: [a, '.']}]}", "{a: {}, b: {}}", "{}", strings.Replace(sequencerWait, `"b"`, `"."`, 1)},
		"SkipsLiteral":  {"an entry that is the name of an observed resource is skipped, although its pattern matches others", "{rules: [{sequence: [a, 'b.?']}]}", "{a: {}, b: {}, bb: {}}", "{'b.?': {}}", "a,b,bb"},
		"Unreached":     {"a pattern after a skipped one is not compiled", "{rules: [{sequence: ['(', b]}]}", "{b: {}}", "{b: {}}", "b"},
		"SecondBefore":  {"all earlier entries must be ready", "{rules: [{sequence: [a, x, b]}]}", "{a: {" + sequencerReady + "}, x: {" + sequencerReady + "}, b: {}}", "{}", "a,b,x"},
		"FirstReason":   {"only the first reason is reported", "{rules: [{sequence: [x, a, b]}]}", "{a: {}, b: {}}", "{a: {}}", `a|Delaying creation of resource(s) matching "b" because "x" does not exist yet`},
		"Usage":         {"a resource that is no longer desired may use another", "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "{a: {" + sequencerReady + "}}", sequencerObserved, "a,b-a-usage"},
		"NotDesired":    {"a resource that is no longer desired is not used", "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "{b: {}}", sequencerObserved, `b`},
		"NotUsage":      {"a Usage uses no resource", "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "{a: {" + sequencerReady + "}}", "{a: {}, b: {resource: {apiVersion: protection.crossplane.io/v1beta1, kind: ClusterUsage}}}", "a"},
		"OldUsage":      {"a Usage of v1 may use a resource in mode v2", "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "{a: {" + sequencerReady + "}}", "{a: {}, b: {resource: {apiVersion: apiextensions.crossplane.io/v1beta1, kind: Usage}}}", "a,b-a-usage"},
		"Neighbors":     {"only neighbors in the sequence are paired", "{enableDeletionSequencing: true, rules: [{sequence: [a, c, b]}]}", "{a: {" + sequencerReady + "}}", sequencerObserved, "a"},
		"ConditionSees": {"a condition sees the readiness that an earlier rule changed, but not its removals", "{resetCompositeReadiness: true, rules: [{sequence: [a, b]}, {sequence: [c, d], condition: 'desired.composite.ready == 2 && \"b\" in desired.resources'}]}", "{a: {}, b: {}}", "{}", "a|" + sequencerWait + `|Delaying creation of resource(s) matching "d" because "c" does not exist yet`},
		"NoContext":     {"an absent context is an empty map", "{rules: [{sequence: [a, b], condition: 'size(context) == 0'}]}", "{a: {}, b: {}}", "{}", "a|" + sequencerWait},
		"Null":          {"a context cannot be compared with null", "{rules: [{sequence: [a, b], condition: 'context == null'}]}", "{a: {}}", "{}", "found no matching overload"},
		"LargePattern":  {"the size of a pattern is limited", "{rules: [{sequence: [a, '" + strings.Repeat("b{1000}", 11) + "']}]}", "{a: {}}", "{}", "the regular expression is too large"},
		"FatalKeeps":    {"a fatal result keeps earlier results", "{rules: [{sequence: [a, b]}, {sequence: [a, '(']}]}", "{a: {}, b: {}}", "{}", "a,b|" + sequencerWait + "|cannot compile regex (: error parsing regexp: missing closing ): `^($`"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := sequencerRequest(t, tc.input, tc.desired, tc.observed)
			before := proto.CloneOf(req)
			got := sequencerSummary(respond(t, builtin.NewSequencer(""), req))
			if got != tc.want && (strings.Contains(tc.want, "|") || !strings.Contains(tc.want, " ") || !strings.Contains(got, tc.want)) {
				t.Errorf("%s: got %s\nwant %s", tc.reason, got, tc.want)
			}
			if !proto.Equal(before, req) {
				t.Error("the request was changed")
			}
		})
	}
}

func sequencerSummary(rsp *fnv1.RunFunctionResponse) string {
	parts := []string{strings.Join(slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())), ",")}
	for _, r := range rsp.GetResults() {
		parts = append(parts, r.GetMessage())
	}
	return strings.Join(parts, "|")
}

func TestSequencerVersions(t *testing.T) {
	cases := map[string]struct {
		reason  string
		version string
		input   string
		want    string
	}{
		"NoUsages":   {"deletion sequencing is unknown before v0.4.0", "v0.3.0", "{enableDeletionSequencing: true}", `unknown name "enableDeletionSequencing"`},
		"Usages":     {"v0.4.0 has deletion sequencing", "v0.4.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "b-a-usage"},
		"UsageUses":  {"before v0.5.0, a Usage uses the resource before it", "v0.4.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, u]}]}", "u-a-usage"},
		"UsageNot":   {"since v0.5.0, a Usage uses no resource", "v0.5.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, u]}]}", "a,b,u"},
		"NoTTL":      {"cacheTTL is unknown before v0.6.0", "v0.5.0", "{cacheTTL: 1m}", `unknown name "cacheTTL"`},
		"NoRule":     {"a condition is unknown before v0.6.0", "v0.5.0", "{rules: [{condition: x}]}", `unknown name "condition"`},
		"Condition":  {"v0.6.0 has conditions", "v0.6.0", "{rules: [{sequence: [a], condition: 'false'}]}", "Skipping sequence [a]"},
		"CreateOnly": {"no release has createOnly", "", "{rules: [{createOnly: true}]}", `unknown name "createOnly"`},
		"Branch":     {"createOnly creates no usages", "main", "{enableDeletionSequencing: true, rules: [{sequence: [a, b], createOnly: true}]}", "a,b,u"},
		"Both":       {"a rule cannot be for creation only and deletion only", "main", "{rules: [{sequence: [a, b], createOnly: true, deleteOnly: true, condition: 'x'}]}", "rule for sequence [a b] cannot have both deleteOnly and createOnly set to true"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := strings.TrimSuffix(sequencerObserved, "}") + ", u: {resource: {apiVersion: protection.crossplane.io/v1beta1, kind: Usage}}}"
			req := sequencerRequest(t, tc.input, "{a: {"+sequencerReady+"}, b: {"+sequencerReady+"}, u: {"+sequencerReady+"}}", seen)
			if got := sequencerSummary(respond(t, builtin.NewSequencer(tc.version), req)); !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %s", tc.reason, got)
			}
		})
	}
}

// TestSequencerUsageName tests names that are longer than 63 bytes.
func TestSequencerUsageName(t *testing.T) {
	cases := map[string]struct{ reason, name, want string }{
		"Longest": {"a name of 63 bytes is not shortened", strings.Repeat("n", 38), "b-" + strings.Repeat("n", 38) + "-a-x-63cd48-dependency"},
		"Long":    {"a longer name has the first 45 bytes", strings.Repeat("N", 60), "b-" + strings.Repeat("n", 43) + "-be5b53-dependency"},
		"Dash":    {"a dash at the end of the first 45 bytes is not doubled", strings.Repeat("n", 42) + "-m", "b-" + strings.Repeat("n", 42) + "-41047d-dependency"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := sequencerRequest(t, "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "{a: {}}", strings.Replace(sequencerObserved, "name: z", "name: "+tc.name, 1))
			usage := respond(t, builtin.NewSequencer(""), req).GetDesired().GetResources()["b-a-usage"].GetResource()
			got := usage.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
			if got != tc.want || len(got) > 63 {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestSequencerLocate checks that the fatal results of inputs lead to their fields.
func TestSequencerLocate(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"TTL":       {"a duration is invalid", `{"cacheTTL": "soon"}`, "cacheTTL"},
		"Condition": {"a condition is invalid", `{"rules": [{"sequence": ["a"], "condition": "true"}, {"sequence": ["a"], "condition": "no"}]}`, "rules[1].condition"},
		"Pattern":   {"a pattern is invalid", `{"rules": [{"sequence": ["a", "("]}]}`, "rules[0].sequence[1]"},
		"Both":      {"a rule has two fields that exclude each other", `{"rules": [{"sequence": ["a"]}, {"sequence": ["a"], "createOnly": true, "deleteOnly": true}]}`, "rules[1]"},
		"Elsewhere": {"a result about the request has no field", `{"resetCompositeReadiness": true, "rules": [{"sequence": ["a", "b"]}]}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := sequencerRequest(t, tc.input, "{b: {}}", "{}")
			req.Desired.Composite = nil
			rsp := respond(t, builtin.NewSequencer("main"), req)
			fatal := rsp.GetResults()[len(rsp.GetResults())-1]
			if got := builtin.LocateSequence(fatal.GetMessage(), []byte(tc.input)); fatal.GetSeverity() != fnv1.Severity_SEVERITY_FATAL || got != tc.want {
				t.Errorf("%s: got %q for %v, want %q", tc.reason, got, fatal, tc.want)
			}
		})
	}
}

// TestSequencerManyUsages checks that the number of Usages is limited, although two patterns match all
// resources.
func TestSequencerManyUsages(t *testing.T) {
	req := sequencerRequest(t, "{enableDeletionSequencing: true, rules: [{sequence: ['.*', '.*']}]}", "{}", "{}")
	req.Desired.Resources, req.Observed.Resources = map[string]*fnv1.Resource{}, map[string]*fnv1.Resource{}
	for i := range 101 {
		req.Desired.Resources[fmt.Sprint(i)], req.Observed.Resources[fmt.Sprint(i)] = &fnv1.Resource{}, &fnv1.Resource{}
	}
	if got := sequencerSummary(respond(t, builtin.NewSequencer(""), req)); !strings.HasSuffix(got, "|the sequences have more than 10000 usages") {
		t.Errorf("got %s", got)
	}
}

func TestSequencerCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	req := sequencerRequest(t, "{rules: [{sequence: [a, b]}]}", "{a: {}}", "{}")
	if _, err := builtin.NewSequencer("").RunFunction(ctx, "function-sequencer", req); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// FuzzSequencerRun checks that no input and observed state crash the function or change the request,
// and that equal requests have equal responses.
func FuzzSequencerRun(f *testing.F) {
	f.Add(`{"rules": [{"sequence": ["a", "b.*", "^c"], "condition": "observed.composite.resource.spec.active"}], "resetCompositeReadiness": true}`, `{"spec": {"active": true}}`)
	f.Add(`{"enableDeletionSequencing": true, "usageVersion": "v1", "rules": [{"sequence": [".*", "b|c$"]}, null]}`, `{"kind": "Usage", "metadata": {"name": "a", "namespace": "b"}}`)
	f.Add(`{"cacheTTL": "-1h", "rules": [{"deleteOnly": true, "sequence": ["(", ""]}]}`, `{"metadata": []}`)
	f.Fuzz(func(t *testing.T, input, object string) {
		in, body := &structpb.Struct{}, &structpb.Struct{}
		if protojson.Unmarshal([]byte(input), in) != nil || protojson.Unmarshal([]byte(object), body) != nil {
			t.Skip("not JSON")
		}
		resource := &fnv1.Resource{Resource: body}
		req := &fnv1.RunFunctionRequest{
			Input:    in,
			Context:  body,
			Observed: &fnv1.State{Composite: resource, Resources: map[string]*fnv1.Resource{"a": resource, "b": {}, "ca": resource}},
			Desired:  &fnv1.State{Composite: resource, Resources: map[string]*fnv1.Resource{"a": {Ready: fnv1.Ready_READY_TRUE}, "b": resource, "d": {}}},
		}
		before := proto.CloneOf(req)
		got, err := builtin.NewSequencer("").RunFunction(t.Context(), "function-sequencer", req)
		again, err2 := builtin.NewSequencer("").RunFunction(t.Context(), "function-sequencer", req)
		if !proto.Equal(got, again) || fmt.Sprint(err) != fmt.Sprint(err2) || !proto.Equal(before, req) {
			t.Errorf("got %v and %v, then %v and %v", got, err, again, err2)
		}
	})
}

// BenchmarkSequencerRun sequences n resources that are all ready, with Usages and a condition.
func BenchmarkSequencerRun(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			req := sequencerRequest(b, "{}", "{}", "{}")
			sequence := make([]any, n)
			req.Desired.Resources, req.Observed.Resources = map[string]*fnv1.Resource{}, map[string]*fnv1.Resource{}
			for i := range n {
				name := fmt.Sprintf("resource-%d", i)
				body, err := structpb.NewStruct(map[string]any{"apiVersion": "example.org/v1", "kind": "Part", "metadata": map[string]any{"name": name, "namespace": "shop"}})
				if err != nil {
					b.Fatal(err)
				}
				sequence[i] = name
				req.Desired.Resources[name] = &fnv1.Resource{Resource: body, Ready: fnv1.Ready_READY_TRUE}
				if i%2 == 0 {
					req.Observed.Resources[name] = &fnv1.Resource{Resource: body}
				}
			}
			var err error
			if req.Input, err = structpb.NewStruct(map[string]any{"enableDeletionSequencing": true, "rules": []any{map[string]any{"sequence": sequence, "condition": "observed.composite.resource.spec.active == true"}}}); err != nil {
				b.Fatal(err)
			}
			r := builtin.NewSequencer("")
			b.ReportAllocs()
			for b.Loop() {
				rsp, err := r.RunFunction(b.Context(), "function-sequencer", req)
				if err != nil || len(rsp.GetResults()) > 0 || len(rsp.GetDesired().GetResources()) < n {
					b.Fatal(sequencerSummary(rsp), err)
				}
			}
		})
	}
}
