package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func TestStatusTransformerGolden(t *testing.T) {
	functiontest.Golden(t, "../../testdata/golden/status-transformer", builtin.NewStatusTransformer(""))
}

// statusTransformerRequest returns a request in YAML, to which the hooks are added.
func statusTransformerRequest(t testing.TB, hooks, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	j, err := yaml.YAMLToJSON([]byte(text + "\ninput: {statusConditionHooks: " + hooks + "}"))
	if err != nil {
		t.Fatal(err)
	}
	req := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(j, req); err != nil {
		t.Fatal(err)
	}
	return req
}

// statusTransformerSummary returns the conditions and results of a response:
// TYPE=STATUS:REASON:MESSAGE and SEVERITY:MESSAGE.
func statusTransformerSummary(rsp *fnv1.RunFunctionResponse) string {
	var parts []string
	for _, c := range rsp.GetConditions() {
		parts = append(parts, fmt.Sprintf("%s=%d:%s:%s", strings.TrimPrefix(c.GetType(), "StatusTransformation"), c.GetStatus(), c.GetReason(), c.GetMessage()))
	}
	for _, r := range rsp.GetResults() {
		parts = append(parts, fmt.Sprintf("%d:%s", r.GetSeverity(), r.GetMessage()))
	}
	return strings.Join(parts, " ")
}

const statusTransformerState = `
observed:
  composite: {resource: {status: {conditions: [{type: Ready, status: "False", reason: Creating}]}}}
  resources:
    a: {resource: {status: {conditions: [{type: Ready, status: "True", reason: Available, message: "one A"}, {type: Synced, status: "False", message: "two A"}]}}}
    b: {resource: {status: {conditions: [{type: Ready, status: "True", reason: Available, message: "one B"}, {type: Synced, status: "True", message: "two B"}]}}}
    bad: {resource: {status: {conditions: [{type: Ready, status: "True", lastTransitionTime: noon}]}}}
context:
  apiextensions.crossplane.io/extra-resources:
    x: [{apiVersion: a/b/c, kind: K, metadata: {name: nn}}, {apiVersion: g/v1, kind: K, metadata: {name: 5}}]`

func TestStatusTransformerHooks(t *testing.T) {
	// hook returns a hook with matchers that sets the condition T with a message.
	hook := func(matchers, message string) string {
		return `[{matchers: [` + matchers + `], setConditions: [{condition: {type: T, status: "True", reason: R, message: '` + message + `'}}]}]`
	}
	const decoding = "cannot get Function input from *v1.RunFunctionRequest: cannot get function input *v1beta1.StatusTransformation from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.StatusTransformation: json: "
	const done, matched = "Success=2:Available:", "T=2:R:m Success=2:Available:"
	const extra = "{resources: [{name: extra}], includeExtraResources: true, conditions: [{type: Ready}]}"
	cases := map[string]struct{ reason, version, hooks, want string }{
		"GroupOrder":   {"of several resources with a group, the last by name counts", "", hook(`{resources: [{name: "^.$"}], conditions: [{type: Ready, message: "one (?P<X>.)"}]}`, "{{.X}}"), "T=2:R:B Success=2:Available:"},
		"AnyOrder":     {"of several resources that match, the first by name counts", "", hook(`{type: AnyResourceMatchesAnyCondition, resources: [{name: "^.$"}], conditions: [{type: Ready, message: "one (?P<X>.)"}]}`, "{{.X}}"), "T=2:R:A Success=2:Available:"},
		"AnyAllPart":   {"a resource that matches in part leaves its groups", "", hook(`{type: AnyResourceMatchesAllConditions, resources: [{name: "^.$"}], conditions: [{type: Ready, message: "one (?P<X>A)?(?P<Y>.)?"}, {type: Synced, status: "True"}]}`, "{{.X}}{{.Y}}"), "T=2:R:B Success=2:Available:"},
		"AllAny":       {"conditions that do not match do not matter", "", hook(`{type: AllResourcesMatchAnyCondition, resources: [{name: "^.$"}], conditions: [{type: Ready}, {type: Synced, status: "True"}]}`, "m"), matched},
		"Composite":    {"the composite resource can be the only resource", "", hook(`{includeCompositeAsResource: true, conditions: [{type: Ready, reason: Creating}]}`, "m"), matched},
		"BadTime":      {"conditions that cannot be decoded are empty", "", hook(`{resources: [{name: bad}], conditions: [{type: Ready, status: "", reason: ""}]}`, "m"), matched},
		"Names":        {"an invalid apiVersion has no group, and its object no kind", "", hook(`{resources: [{name: '^extra-resource\.x\.\.\.\.nn$'}], includeExtraResources: true, conditions: [{type: Ready}]}`, "m"), matched},
		"NumberName":   {"a name that is not a text is empty", "", hook(`{resources: [{name: '^extra-resource\.x\.g\.K\.\.$'}], includeExtraResources: true, conditions: [{type: Ready}]}`, "m"), matched},
		"NoGroup":      {"a group that took no part is empty", "", hook(`{resources: [{name: "^a$"}], conditions: [{type: Ready, message: "(?P<X>zz)?one"}]}`, "<{{.X}}>"), "T=2:R:<> Success=2:Available:"},
		"Later":        {"a failed matcher ends its hook, and not later hooks", "", `[{matchers: [{resources: [{name: "("}], conditions: [{type: Ready}]}]}, {matchers: [{resources: [{name: a}], conditions: [{type: Ready}]}], createEvents: [{event: {message: e}}]}]`, "Success=3:MatchFailure:cannot match resources, statusConditionHookIndex: 0, matchConditionIndex: 0: cannot compile resource key regex, resourcesIndex: 0: error parsing regexp: missing closing ): `(` 3:e"},
		"Unreached":    {"a pattern of a condition that does not match is not compiled", "", hook(`{resources: [{name: "^a$"}], conditions: [{type: Ready, status: "False", message: "("}]}`, "m"), done},
		"Recursion":    {"the recursion of a template is limited", "", hook(`{resources: [{name: "^a$"}], conditions: [{type: Ready, message: "(one)"}]}`, `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`), `Success=3:SetConditionFailure:cannot set condition, statusConditionHookIndex: 0, setConditionIndex: 0: cannot execute template: template: :1:25: executing "a" at <{{template "a"}}>: exceeded maximum template depth (100000)`},
		"Cut":          {"a character that a template cuts is replaced", "", hook(`{resources: [{name: "^a$"}], conditions: [{type: Ready, message: "(one)"}]}`, `{{slice "é" 1}}`), "T=2:R:\uFFFD Success=2:Available:"},
		"Null":         {"a null is an absent field", "", `null`, done},
		"Nested":       {"a field of a matcher is decoded strictly", "", "[{matchers: [{nam: a}]}]", "Success=3:InputFailure:" + decoding + `cannot unmarshal Go value of type v1beta1.Matcher: unknown name "nam"`},
		"NoExtra":      {"versions before v0.5.0 do not know extra resources", "v0.4.1", "[{matchers: [" + extra + "]}]", "Success=3:InputFailure:" + decoding + `cannot unmarshal Go value of type v1beta1.Matcher: unknown name "includeExtraResources"`},
		"Extra":        {"extra resources exist since v0.5.0", "v0.5.0", hook(extra, "m"), matched},
		"NoComposite":  {"versions before v0.4.0 do not know the composite resource", "v0.3.0", "[{matchers: [{includeCompositeAsResource: null}]}]", "Success=3:InputFailure:" + decoding + `cannot unmarshal Go value of type v1beta1.Matcher: unknown name "includeCompositeAsResource"`},
		"OldComposite": {"the composite resource exists since v0.4.0", "v0.4.0", hook("{includeCompositeAsResource: true, conditions: [{type: Ready}]}", "m"), matched},
		"Large":        {"the size of patterns is limited", "", hook(`{resources: [{name: "`+strings.Repeat("a", 20_000)+`"}], conditions: [{type: Ready}]}`, "m"), "Success=3:MatchFailure:cannot match resources, statusConditionHookIndex: 0, matchConditionIndex: 0: cannot compile resource key regex, resourcesIndex: 0: the regular expression is too large"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := statusTransformerRequest(t, tc.hooks, statusTransformerState)
			before := proto.CloneOf(req)
			rsp, err := builtin.NewStatusTransformer(tc.version).RunFunction(t.Context(), "f", req)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(before, req) {
				t.Errorf("%s: the request was changed", tc.reason)
			}
			if got := statusTransformerSummary(rsp); got != tc.want {
				t.Errorf("%s:\n got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// A template without end runs until the context is done.
func TestStatusTransformerCanceled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause)
	defer cancel()
	req := statusTransformerRequest(t, `[{matchers: [{resources: [{name: ^a$}], conditions: [{type: Ready, message: "(one)"}]}], createEvents: [{event: {message: "{{range 9000000000000000000}}{{end}}"}}]}]`, statusTransformerState)
	if _, err := builtin.NewStatusTransformer("").RunFunction(ctx, "f", req); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// FuzzStatusTransformerHook looks for patterns, messages and states with which the function
// panics, returns an error, or returns a response that cannot be encoded.
func FuzzStatusTransformerHook(f *testing.F) {
	for _, message := range []string{"{{.X}}", "{{range 3}}{{$.X}}{{end}}", `{{printf "%9d" 1}}`, `{{define "a"}}{{template "a"}}{{end}}`} {
		f.Add("^a", "(?P<X>.)", message, "AllResourcesMatchAnyCondition", `{"status": {"conditions": [{"type": "Ready", "message": "x"}]}}`)
	}
	r := builtin.NewStatusTransformer("")
	f.Fuzz(func(t *testing.T, name, pattern, message, matchType, object string) {
		body := &structpb.Struct{}
		if protojson.Unmarshal([]byte(object), body) != nil {
			t.Skip("not an object")
		}
		input, err := structpb.NewStruct(map[string]any{"statusConditionHooks": []any{map[string]any{
			"matchers": []any{map[string]any{
				"type": matchType, "resources": []any{map[string]any{"name": name}}, "includeCompositeAsResource": true, "includeExtraResources": true,
				"conditions": []any{map[string]any{"type": "Ready", "message": pattern}},
			}},
			"setConditions": []any{map[string]any{"condition": map[string]any{"type": name, "message": message}}},
			"createEvents":  []any{map[string]any{"event": map[string]any{"message": message}}},
		}}})
		if err != nil {
			t.Skip("not UTF-8")
		}
		req := &fnv1.RunFunctionRequest{Input: input, Context: body, Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: body}, Resources: map[string]*fnv1.Resource{"a": {Resource: body}, "b": {}},
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		rsp, err := r.RunFunction(ctx, "f", req)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if _, err := proto.Marshal(rsp); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkStatusTransformerRun measures two hooks with templates, and ten resources.
func BenchmarkStatusTransformerRun(b *testing.B) {
	const hooks = `[{matchers: [{resources: [{name: "^r"}], conditions: [{type: Ready, status: "True"}, {type: Synced, message: "(?P<Who>\\S+) is fine"}]}],
  setConditions: [{condition: {type: A, status: "True", reason: R, message: "{{ .Who }} works"}}], createEvents: [{event: {message: "{{ .Who }}"}}]},
 {matchers: [{type: AnyResourceMatchesAnyCondition, resources: [{name: "^r"}], conditions: [{type: Ready, status: "False"}]}], setConditions: [{condition: {type: B, status: "False", reason: R}}]}]`
	req := statusTransformerRequest(b, hooks, `observed: {resources: {r: {resource: {status: {conditions: [{type: Synced, status: "True", reason: ReconcileSuccess, message: "r is fine", lastTransitionTime: "2026-01-02T03:04:05Z"}, {type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-01-02T03:04:05Z"}]}}}}}`)
	for i := range 9 {
		req.Observed.Resources[fmt.Sprint("r", i)] = req.Observed.Resources["r"]
	}
	r := builtin.NewStatusTransformer("")
	b.ReportAllocs()
	for b.Loop() {
		rsp, err := r.RunFunction(b.Context(), "f", req)
		if err != nil || len(rsp.GetConditions()) != 2 || len(rsp.GetResults()) != 1 {
			b.Fatal(rsp, err)
		}
	}
}
