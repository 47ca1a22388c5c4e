package builtin_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// TestSequencerGoldenError compares the builtin with the real function where that returns a gRPC error.
func TestSequencerGoldenError(t *testing.T) {
	req := functiontest.Request(t, golden+"sequencer-grpc-error/deletion-bad-regex/request.yaml")
	rsp, err := named(t, "sequencer", "").RunFunction(t.Context(), "function-sequencer", req)
	const message = "cannot compile regex b(: error parsing regexp: missing closing ): `^b($`"
	if got := status.Convert(err); rsp != nil || got.Code() != codes.Unknown || got.Message() != message {
		t.Errorf("got %v, %v", rsp, err)
	}
	e2e.Equal(t, "the error has the function's name and the code", `calling function "function-sequencer": Unknown: `+message, err.Error())
}

// sequencerRequest parses a request from the YAML of its parts. The input is an input
// of function-sequencer.
func sequencerRequest(t testing.TB, input, desired, observed string) *fnv1.RunFunctionRequest {
	t.Helper()
	return request(t, fmt.Sprintf("{input: %s, desired: {composite: {resource: {}}, resources: %s}, observed: {composite: {resource: {spec: {active: true}}}, resources: %s}}", input, desired, observed))
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
			got := sequencerSummary(respond(t, named(t, "sequencer", ""), sequencerRequest(t, tc.input, tc.desired, tc.observed)))
			if got != tc.want && (strings.Contains(tc.want, "|") || !strings.Contains(tc.want, " ") || !strings.Contains(got, tc.want)) {
				t.Errorf("%s: got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// sequencerSummary returns the names of the desired resources and the texts of the results.
func sequencerSummary(rsp *fnv1.RunFunctionResponse) string {
	return strings.TrimSuffix(strings.Join(slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())), ",")+"|"+results(rsp), "|")
}

func TestSequencerVersions(t *testing.T) {
	cases := map[string]struct{ reason, version, input, want string }{
		"NoUsages":   {"deletion sequencing is unknown before v0.4.0", "v0.3.0", "{enableDeletionSequencing: true}", `unknown name "enableDeletionSequencing"`},
		"Usages":     {"v0.4.0 has deletion sequencing", "v0.4.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, b]}]}", "b-a-usage"},
		"UsageUses":  {"before v0.5.0, a Usage uses the resource before it", "v0.4.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, u]}]}", "u-a-usage"},
		"UsageNot":   {"since v0.5.0, a Usage uses no resource", "v0.5.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, u]}]}", "a,b,u"},
		"UsesAll":    {"before v0.6.0, a pattern uses each earlier entry", "v0.5.0", "{enableDeletionSequencing: true, rules: [{sequence: [a, b, 'u.?']}, {sequence: [a, b, 'c.?']}, {sequence: [b, a, '[u]']}, {sequence: [u, a, '(b)']}]}", "a,a-b-usage,a-u-usage,b,b-a-usage,b-u-usage,u,w"},
		"UsesReady":  {"before v0.6.0, a pattern uses only what is ready", "v0.5.0", "{enableDeletionSequencing: true, rules: [{sequence: [x, '(b)']}]}", `a,b,u,w|Delaying creation of resource(s) matching "(b)" because "x" does not exist yet`},
		"UsesAbsent": {"before v0.6.0, a Usage of a resource that does not exist crashes the real function", "v0.5.0", "{enableDeletionSequencing: true, rules: [{sequence: [w, '(b)']}]}", `cannot create usage of resource "w" by "b": "w" does not exist`},
		"UsesFatal":  {"before v0.6.0, an invalid pattern is a fatal result", "v0.5.0", "{enableDeletionSequencing: true, rules: [{sequence: ['(', b]}]}", "cannot compile regex (: error parsing regexp: missing closing ): `^($`"},
		"UsesNow":    {"since v0.6.0, a pattern uses only its neighbor", "v0.6.0", "{enableDeletionSequencing: true, rules: [{sequence: [u, a, '(b)']}]}", "a,a-u-usage,b,b-a-usage,u,w"},
		"NoTTL":      {"cacheTTL is unknown before v0.6.0", "v0.5.0", "{cacheTTL: 1m}", `unknown name "cacheTTL"`},
		"NoRule":     {"a condition is unknown before v0.6.0", "v0.5.0", "{rules: [{condition: x}]}", `v1beta1.SequencingRule: unknown name "condition"`},
		"Condition":  {"v0.6.0 has conditions", "v0.6.0", "{rules: [{sequence: [a], condition: 'false'}]}", "Skipping sequence [a]"},
		"CreateOnly": {"no release has createOnly", "", "{rules: [{createOnly: true}]}", `unknown name "createOnly"`},
		"Branch":     {"createOnly creates no usages", "main", "{enableDeletionSequencing: true, rules: [{sequence: [a, b], createOnly: true}]}", "a,b,u"},
		"Both":       {"a rule cannot be for creation only and deletion only", "main", "{rules: [{sequence: [a, b], createOnly: true, deleteOnly: true, condition: 'x'}]}", "rule for sequence [a b] cannot have both deleteOnly and createOnly set to true"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := strings.TrimSuffix(sequencerObserved, "}") + ", u: {resource: {apiVersion: protection.crossplane.io/v1beta1, kind: Usage}}}"
			req := sequencerRequest(t, tc.input, "{a: {"+sequencerReady+"}, b: {"+sequencerReady+"}, u: {"+sequencerReady+"}, w: {"+sequencerReady+"}}", seen)
			e2e.Has(t, tc.reason, sequencerSummary(respond(t, named(t, "sequencer", tc.version), req)), tc.want)
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
			usage := respond(t, named(t, "sequencer", ""), req).GetDesired().GetResources()["b-a-usage"].GetResource()
			got := usage.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
			if got != tc.want || len(got) > 63 {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
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
	if got := sequencerSummary(respond(t, named(t, "sequencer", ""), req)); !strings.HasSuffix(got, "|the sequences have more than 10000 usages") {
		t.Errorf("got %s", got)
	}
}
