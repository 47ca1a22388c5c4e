package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// statusTransformerRequest returns a request in YAML, to which the hooks are added.
func statusTransformerRequest(t testing.TB, hooks, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	return request(t, text+"\ninput: {statusConditionHooks: "+hooks+"}")
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
			rsp := respond(t, named(t, "status-transformer", tc.version), statusTransformerRequest(t, tc.hooks, statusTransformerState))
			e2e.Equal(t, tc.reason, tc.want, statusTransformerSummary(rsp))
		})
	}
}
