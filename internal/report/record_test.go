package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/report"
)

// ticking returns a clock that advances by 1.5 ms with each call.
func ticking() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(1500 * time.Microsecond)
		return now
	}
}

// run records a pipeline with a step for each response, written in YAML, and
// returns the trace.
func run(t testing.TB, responses ...string) report.Trace {
	t.Helper()
	rec := report.Record(functiontest.Literal(), ticking())
	req := &fnv1.RunFunctionRequest{}
	for i, text := range responses {
		ctx := function.WithStep(t.Context(), []string{"first", "second", "third", "fourth"}[i])
		in := &structpb.Struct{}
		e2e.NoError(t, protojson.Unmarshal(fmt.Appendf(nil, `{"response": %s}`, toJSON(t, text)), in))
		rsp, err := rec.RunFunction(ctx, "function-literal", &fnv1.RunFunctionRequest{
			Input: in, Desired: req.GetDesired(), Context: req.GetContext(),
		})
		e2e.NoError(t, err)
		req.Desired, req.Context = rsp.GetDesired(), rsp.GetContext()
	}
	return rec.Trace("example.org/v1 XThing a")
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	var v map[string]any
	e2e.NoError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}

func toJSON(t testing.TB, text string) []byte {
	t.Helper()
	return e2e.Must(yaml.YAMLToJSON([]byte(text)))(t)
}

const one = `desired: {resources: {a: {resource: {apiVersion: v1, kind: ConfigMap, data: {k: x}}}}}`

func TestTraceChanges(t *testing.T) {
	configMap := report.ResourceChange{Name: "a", APIVersion: "v1", Kind: "ConfigMap", Op: report.Changed}
	with := func(change func(*report.ResourceChange)) []report.ResourceChange {
		c := configMap
		change(&c)
		return []report.ResourceChange{c}
	}
	cases := map[string]struct {
		reason, response string
		want             []report.ResourceChange
	}{
		"Nothing": {"a step that returns its input changes nothing", one, nil},
		"Changed": {
			"a field that differs is a change",
			`desired: {resources: {a: {resource: {apiVersion: v1, kind: ConfigMap, data: {k: "b"}}}}}`,
			with(func(c *report.ResourceChange) {
				c.Fields = []report.Change{{Path: "data.k", Op: report.Changed, Old: "x", New: "b"}}
			}),
		},
		"Dropped": {
			"a resource that a step leaves out is removed", `desired: {}`,
			with(func(c *report.ResourceChange) {
				c.Op = report.Removed
				c.Fields = []report.Change{
					{Path: "apiVersion", Op: report.Removed, Old: "v1"},
					{Path: "data.k", Op: report.Removed, Old: "x"},
					{Path: "kind", Op: report.Removed, Old: "ConfigMap"},
				}
			}),
		},
		"Ready": {
			"readiness is not a field",
			`desired: {resources: {a: {ready: READY_TRUE, resource: {apiVersion: v1, kind: ConfigMap, data: {k: x}}}}}`,
			with(func(c *report.ResourceChange) { c.Ready = &report.Change{Op: report.Added, New: "True"} }),
		},
		"Details": {
			"connection details show their key and size",
			`desired: {resources: {a: {connectionDetails: {user.name: c2VjcmV0}, resource: {apiVersion: v1, kind: ConfigMap, data: {k: x}}}}}`,
			with(func(c *report.ResourceChange) {
				c.ConnectionDetails = []report.Change{{Path: "[user.name]", Op: report.Added, New: "6 bytes"}}
			}),
		},
		"Composite": {
			"the XR comes first and has no name",
			`desired: {composite: {resource: {status: {m: 1}}}, resources: {a: {resource: {apiVersion: v1, kind: ConfigMap, data: {k: x}}}}}`,
			[]report.ResourceChange{{Op: report.Added, Fields: []report.Change{{Path: "status.m", Op: report.Added, New: 1.0}}}},
		},
		"Empty": {
			"a resource without fields is added",
			`desired: {resources: {b: {}, a: {resource: {apiVersion: v1, kind: ConfigMap, data: {k: x}}}}}`,
			[]report.ResourceChange{{Name: "b", Op: report.Added}},
		},
		"Fatal": {
			"a fatal step changes nothing, because its response is discarded",
			`{desired: {}, results: [{severity: SEVERITY_FATAL, message: "no"}]}`, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, one, tc.response).Steps[1]
			e2e.Equal(t, tc.reason, tc.want, got.Changes)
		})
	}
}

func TestTraceStep(t *testing.T) {
	got := run(t, one, `
context: {env: {region: eu}}
desired: {resources: {a: {resource: {apiVersion: v1, kind: ConfigMap, data: {k: x}}}}}
results:
- {severity: SEVERITY_WARNING, message: careful, reason: Careless, target: TARGET_COMPOSITE_AND_CLAIM}
- {severity: SEVERITY_NORMAL, message: fine}
conditions:
- {type: Fine, status: STATUS_CONDITION_TRUE, reason: AllWell, message: all is well, target: TARGET_COMPOSITE}
requirements:
  resources:
    r10: {apiVersion: v1, kind: Node}
    r2: {apiVersion: v1, kind: Secret, matchName: s, namespace: ns}
    labels: {apiVersion: v1, kind: Pod, matchLabels: {labels: {b: c, a: d}}}
  extraResources:
    old: {apiVersion: v1, kind: Secret, matchName: s}
  schemas:
    s: {apiVersion: v1, kind: Pod}
`).Steps[1]
	want := report.Step{
		Name: "second", Function: "function-literal", Calls: 1, Took: 1500 * time.Microsecond,
		ContextChanges: []report.Change{{Path: "env.region", Op: report.Added, New: "eu"}},
		Results: []report.Result{
			{Severity: "Warning", Message: "careful", Reason: "Careless", Target: "CompositeAndClaim"},
			{Severity: "Normal", Message: "fine"},
		},
		Conditions: []report.Condition{{Type: "Fine", Status: "True", Reason: "AllWell", Message: "all is well", Target: "Composite"}},
		Requirements: []string{
			`resource "labels": v1 Pod with labels a=d, b=c`,
			`resource "r2": v1 Secret named "s" in namespace "ns"`,
			`resource "r10": every v1 Node`,
			`extra resource "old": v1 Secret named "s"`,
			`schema "s": v1 Pod`,
		},
	}
	e2e.Equal(t, "the step has what the response changed and requested", want, got)
}

func TestTraceFatal(t *testing.T) {
	got := run(t, one, `{results: [{severity: SEVERITY_FATAL, message: "no"}]}`)
	if len(got.Steps) != 2 || !got.Steps[1].Fatal || got.Steps[0].Fatal {
		t.Errorf("want two steps with a fatal result in the last: %+v", got.Steps)
	}
}

// answers returns a Runner that returns the responses in order.
func answers(responses ...*fnv1.RunFunctionResponse) function.Runner {
	n := 0
	return function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		n++
		if responses[n-1] == nil {
			return nil, errors.New("the function has ended")
		}
		return responses[n-1], nil
	})
}

func response(t *testing.T, text string) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp := &fnv1.RunFunctionResponse{}
	e2e.NoError(t, protojson.Unmarshal(toJSON(t, text), rsp))
	return rsp
}

func TestTraceOfManyCalls(t *testing.T) {
	first := response(t, `{desired: {resources: {early: {}}}, results: [{severity: SEVERITY_WARNING, message: early}]}`)
	second := response(t, `{desired: {resources: {late: {}}}, results: [{severity: SEVERITY_NORMAL, message: late}]}`)
	rec := report.Record(answers(first, second, second, nil), ticking())
	for i, step := range []string{"loop", "loop", "other", "loop"} {
		ctx := function.WithStep(t.Context(), step)
		rsp, err := rec.RunFunction(ctx, "f", &fnv1.RunFunctionRequest{})
		if failed := err != nil; failed != (i == 3) || failed != (rsp == nil) {
			t.Fatalf("call %d: the recorder must return the response and error of the function, got %v, %v", i, rsp, err)
		}
	}
	late := []report.ResourceChange{{Name: "late", Op: report.Added}}
	results := []report.Result{{Severity: "Normal", Message: "late"}}
	want := report.Trace{XR: "xr", Steps: []report.Step{
		{Name: "loop", Function: "f", Calls: 2, Took: 3 * time.Millisecond, Changes: late, Results: results},
		{Name: "other", Function: "f", Calls: 1, Took: 1500 * time.Microsecond, Changes: late, Results: results},
		{Name: "loop", Function: "f", Calls: 1, Took: 1500 * time.Microsecond, Error: "the function has ended"},
	}}
	e2e.Equal(t, "consecutive calls for one step are one step with the last response", want, rec.Trace("xr"))
}

func TestTraceOfNothing(t *testing.T) {
	b := e2e.Must(json.Marshal(report.Record(answers(), ticking()).Trace("xr")))(t)
	e2e.Equal(t, "an empty trace has an empty list of steps", `{"xr":"xr","steps":[]}`, string(b))
}

// TestTraceKeepsSecrets searches the trace for secrets.
func TestTraceKeepsSecrets(t *testing.T) {
	const secret, other = "correct horse", "battery staple"
	details := func(s string) *fnv1.State {
		return &fnv1.State{
			Composite: &fnv1.Resource{ConnectionDetails: map[string][]byte{"password": []byte(s)}},
			Resources: map[string]*fnv1.Resource{"a": {ConnectionDetails: map[string][]byte{"password": []byte(s), "lost": []byte(secret)}}},
		}
	}
	after := details(other[:len(secret)])
	delete(after.GetResources()["a"].GetConnectionDetails(), "lost")
	rec := report.Record(answers(&fnv1.RunFunctionResponse{Desired: after}), ticking())
	_, err := rec.RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{
		Desired: details(secret),
		Credentials: map[string]*fnv1.Credentials{"c": {Source: &fnv1.Credentials_CredentialData{
			CredentialData: &fnv1.CredentialData{Data: map[string][]byte{"token": []byte(secret)}},
		}}},
	})
	e2e.NoError(t, err)
	trace := rec.Trace("xr")
	var b strings.Builder
	e2e.NoError(t, json.NewEncoder(&b).Encode(trace))
	e2e.NoError(t, trace.Text(&b, report.Style{Columns: 80}))
	fmt.Fprintf(&b, "%+v %+v", trace, rec.Trace("xr").Blame())
	for _, leak := range []string{secret, other[:5], "token", "Y29ycmVjdCBob3JzZQ"} {
		if strings.Contains(b.String(), leak) {
			t.Errorf("the trace contains %q:\n%s", leak, b.String())
		}
	}
	want := []report.Change{
		{Path: "lost", Op: report.Removed, Old: "13 bytes"},
		{Path: "password", Op: report.Changed, Old: "13 bytes", New: "13 bytes"},
	}
	e2e.Equal(t, "a different secret of the same length is a change", want, trace.Steps[0].Changes[1].ConnectionDetails)
}

// TestTraceOfOddValues sends values that JSON cannot express.
func TestTraceOfOddValues(t *testing.T) {
	s := &structpb.Struct{Fields: map[string]*structpb.Value{
		"nan": structpb.NewNumberValue(math.NaN()),
		"inf": structpb.NewNumberValue(math.Inf(-1)),
		"nil": nil,
		"odd": {},
		"bad": structpb.NewStringValue("\xff"),
	}}
	rsp := &fnv1.RunFunctionResponse{
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"a": {Resource: s, Ready: 7}, "": {Resource: s}, "nil": nil}},
		Context: s, Results: []*fnv1.Result{{Severity: 99}, nil}, Conditions: []*fnv1.Condition{nil},
	}
	rec := report.Record(answers(rsp), ticking())
	e2e.NoError(t, e2e.Err(rec.RunFunction(t.Context(), "f", nil)))
	trace := rec.Trace("xr")
	e2e.NoError(t, e2e.Err(json.Marshal(trace)))
	for _, c := range trace.Steps[0].Changes {
		if c.Name == "" {
			t.Error("a resource without a name is recorded as the XR")
		}
	}
}

func TestRecorderIsSafe(t *testing.T) {
	same := response(t, one)
	rec := report.Record(function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return same, nil
	}), func() time.Time { return time.Unix(0, 0) })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, _ = rec.RunFunction(function.WithStep(t.Context(), fmt.Sprint(i)), "f", &fnv1.RunFunctionRequest{Desired: same.GetDesired()})
			rec.Trace("xr")
		})
	}
	e2e.Wait(t, &wg)
	e2e.Equal(t, "concurrent calls are a step each", 8, len(rec.Trace("xr").Steps))
}

func TestTraceIsStable(t *testing.T) {
	first := e2e.Must(json.Marshal(everyday(t)))(t)
	for range 20 {
		again := e2e.Must(json.Marshal(everyday(t)))(t)
		e2e.Equal(t, "two traces of the same calls differ", string(first), string(again))
	}
}

// large returns a desired state of n resources with 20 fields each.
func large(n int, region string) *fnv1.State {
	s := &fnv1.State{Resources: make(map[string]*fnv1.Resource, n)}
	fields := map[string]*structpb.Value{}
	for i := range 20 {
		fields[fmt.Sprintf("field%d", i)] = structpb.NewStringValue("value")
	}
	fields["region"] = structpb.NewStringValue(region)
	spec := structpb.NewStructValue(&structpb.Struct{Fields: fields})
	for i := range n {
		s.Resources[fmt.Sprintf("resource-%d", i)] = proto.CloneOf(&fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{
			"apiVersion": structpb.NewStringValue("v1"), "kind": structpb.NewStringValue("Thing"), "spec": spec,
		}}})
	}
	return s
}

// BenchmarkTrace records and traces three steps: one that creates n resources,
// one that changes a field of each, one that changes nothing.
func BenchmarkTrace(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			states := []*fnv1.State{nil, large(n, "a"), large(n, "b"), large(n, "b")}
			for b.Loop() {
				var rsps []*fnv1.RunFunctionResponse
				for _, s := range states[1:] {
					rsps = append(rsps, &fnv1.RunFunctionResponse{Desired: s})
				}
				rec := report.Record(answers(rsps...), time.Now)
				for i := range rsps {
					ctx := function.WithStep(b.Context(), fmt.Sprint(i))
					e2e.NoError(b, e2e.Err(rec.RunFunction(ctx, "f", &fnv1.RunFunctionRequest{Desired: states[i]})))
				}
				e2e.Equal(b, "each resource that a step changes is a change", n, len(rec.Trace("xr").Steps[1].Changes))
			}
		})
	}
}

func TestFailed(t *testing.T) {
	cases := map[string]struct {
		reason string
		trace  report.Trace
		want   bool
	}{
		"Empty": {"an empty trace did not fail", report.Trace{}, false},
		"Fine":  {"a warning is not a failure", report.Trace{Steps: []report.Step{{Results: []report.Result{{Severity: "Warning"}}}}}, false},
		"Fatal": {"a fatal result fails the render", report.Trace{Steps: []report.Step{{Fatal: true}}}, true},
		"Call":  {"a failed call fails the render", report.Trace{Steps: []report.Step{{Error: "refused"}}}, true},
		"Whole": {"an error outside of steps fails the render", report.Trace{Error: "unstable requirements"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, tc.trace.Failed())
		})
	}
}
