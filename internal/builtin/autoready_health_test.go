package builtin_test

import (
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

var withCEL = builtin.NewAutoReady(builtin.AutoReadyOptions{CELHealthChecks: true})

func TestAutoReadyGoldenCEL(t *testing.T) {
	functiontest.Golden(t, golden+"auto-ready-cel", withCEL)
}

// The real function crashes if the path in the context has no rules and the input has some.
func TestAutoReadyRulesMissing(t *testing.T) {
	req := functiontest.Request(t, golden+"auto-ready-cel-crash/from-missing-inline/request.yaml")
	rsp := respond(t, withCEL, req)
	if len(rsp.GetResults()) > 0 || rsp.GetDesired().GetResources()["it"].GetReady() != fnv1.Ready_READY_TRUE {
		t.Errorf("got %v, want the rule of the input", rsp)
	}
}

func TestAutoReadyRulePath(t *testing.T) {
	const crane = "{apiVersion: g/v1, kind: Crane, status: {ok: true}}"
	cases := map[string]struct {
		reason, path, context string
		want                  bool
	}{
		"Dots":      {"names are separated by dots", "a.b", "{a: {b: RULES}}", true},
		"Brackets":  {"a name in brackets may have dots", "a[b.c]d.[e]", "{a: {b.c: {d: {e: RULES}}}}", true},
		"Extra":     {"empty names are ignored", "..a.[].b.", "{a: {b: RULES}}", true},
		"Open":      {"a bracket that is not closed is a separator", "[a.b", "{a: {b: RULES}}", true},
		"Nested":    {"a bracket in brackets is a separator", "[a[b.c]", "{a: {b.c: RULES}}", true},
		"Close":     {"a bracket that is not opened is a separator", "a]b", "{a: {b: RULES}}", true},
		"Whole":     {"a path without names has no rules", "[]", "RULES", false},
		"Text":      {"a step must be an object", "a.b", "{a: b}", false},
		"List":      {"the end must be an object", "a", "{a: [RULES]}", false},
		"NoContext": {"the context may be missing", "a", "{}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := autoReadyRequest(object(t, crane))
			req.Input = object(t, "{celHealthCheckCustomizationFrom: '"+tc.path+"'}")
			req.Context = object(t, strings.ReplaceAll(tc.context, "RULES", "{g_v1_Crane: 'object.status.ok == true'}"))
			rsp := respond(t, withCEL, req)
			e2e.Equal(t, tc.reason, tc.want, rsp.GetDesired().GetResources()["it"].GetReady() == fnv1.Ready_READY_TRUE)
		})
	}
}

func TestAutoReadyRules(t *testing.T) {
	loops := "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(x, object.l.map(y, object.l.map(z, object.l.map(a, object.l.map(b, a + b))))) == []"
	cases := map[string]struct {
		reason, rule string
		ready        fnv1.Ready
		warning      string
	}{
		"Any":    {"a type error names the type any", "1.startsWith(object)", fnv1.Ready_READY_UNSPECIFIED, "failed to compile query: ERROR: <input>:1:13: found no matching overload for 'startsWith' applied to 'int.(any)'"},
		"Double": {"a number is a double", "object.num + 1 == 2", fnv1.Ready_READY_UNSPECIFIED, "failed to eval the program: no such overload"},
		"Sum":    {"an operator that the type lacks is named", "object.ok + 1 == 2", fnv1.Ready_READY_UNSPECIFIED, "failed to eval the program: no such overload: _+_"},
		"Bool":   {"a dynamic value may be converted", "bool(object.ok)", fnv1.Ready_READY_TRUE, ""},
		"Null":   {"a null is a value", "object.nothing == null && has(object.nothing)", fnv1.Ready_READY_TRUE, ""},
		"False":  {"a rule may decide that a resource is not ready", "object.num == 2", fnv1.Ready_READY_FALSE, ""},
		"Cost":   {"the cost is limited", loops, fnv1.Ready_READY_UNSPECIFIED, "failed to eval the program: the expression exceeds the cost limit of 1000000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := autoReadyRequest(object(t, "{apiVersion: g/v1, kind: Crane, num: 1, ok: true, nothing: null, l: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}"))
			req.Input = object(t, "{celHealthCheckCustomization: {g_v1_Crane: '"+tc.rule+"'}}")
			rsp := respond(t, withCEL, req)
			warning := results(rsp)
			if tc.warning == "" && warning != "" || !strings.HasPrefix(warning, tc.warning) {
				t.Errorf("%s: got %q, want %q", tc.reason, warning, tc.warning)
			}
			e2e.Equal(t, tc.reason, tc.ready, rsp.GetDesired().GetResources()["it"].GetReady())
		})
	}
}

// An object with an invalid apiVersion has no kind.
func TestAutoReadyRuleOfNoKind(t *testing.T) {
	req := autoReadyRequest(object(t, "{apiVersion: a/b/c, kind: Crane}"))
	req.Input = object(t, "{celHealthCheckCustomization: {__: 'false', __Crane: 'true'}}")
	e2e.Equal(t, "no rule applies to an object whose apiVersion is invalid", fnv1.Ready_READY_FALSE, respond(t, withCEL, req).GetDesired().GetResources()["it"].GetReady())
}

func TestAutoReadyOptions(t *testing.T) {
	hour := time.Hour
	cases := map[string]struct {
		reason, input string
		options       builtin.AutoReadyOptions
		ttl           time.Duration
		ready         fnv1.Ready
		fatal         bool
	}{
		"TTL":       {"the option sets the default TTL", "{}", builtin.AutoReadyOptions{TTL: &hour}, time.Hour, fnv1.Ready_READY_UNSPECIFIED, false},
		"InputTTL":  {"the TTL of the input takes precedence", "{ttl: 5s}", builtin.AutoReadyOptions{TTL: &hour}, 5 * time.Second, fnv1.Ready_READY_UNSPECIFIED, false},
		"Fatal":     {"a fatal result has the default TTL of the option", "{tl: 5s}", builtin.AutoReadyOptions{TTL: &hour}, time.Hour, fnv1.Ready_READY_UNSPECIFIED, true},
		"Off":       {"rules are ignored by default", "{celHealthCheckCustomization: {g_v1_Crane: 'true'}}", builtin.AutoReadyOptions{}, time.Minute, fnv1.Ready_READY_UNSPECIFIED, false},
		"On":        {"the gate enables rules", "{celHealthCheckCustomization: {g_v1_Crane: 'true'}}", builtin.AutoReadyOptions{CELHealthChecks: true, Version: "v0.7.0"}, time.Minute, fnv1.Ready_READY_TRUE, false},
		"Old":       {"versions before v0.7.0 ignore inputs", "{ttl: 5s, celHealthCheckCustomization: {g_v1_Crane: 'true'}}", builtin.AutoReadyOptions{CELHealthChecks: true, TTL: &hour, Version: "v0.6.7"}, time.Minute, fnv1.Ready_READY_UNSPECIFIED, false},
		"OldWrong":  {"versions before v0.7.0 ignore wrong inputs", "{nope: 5s, ttl: [1]}", builtin.AutoReadyOptions{Version: "v0.6.0"}, time.Minute, fnv1.Ready_READY_UNSPECIFIED, false},
		"Candidate": {"a release candidate of v0.7.0 has an input", "{ttl: 5s}", builtin.AutoReadyOptions{Version: "v0.7.0-rc.1"}, 5 * time.Second, fnv1.Ready_READY_UNSPECIFIED, false},
		"Branch":    {"a branch has an input", "{ttl: 5s}", builtin.AutoReadyOptions{Version: "main"}, 5 * time.Second, fnv1.Ready_READY_UNSPECIFIED, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := autoReadyRequest(object(t, "{apiVersion: g/v1, kind: Crane}"))
			req.Input = object(t, tc.input)
			rsp := respond(t, builtin.NewAutoReady(tc.options), req)
			e2e.Equal(t, tc.reason, tc.ttl, rsp.GetMeta().GetTtl().AsDuration())
			e2e.Equal(t, tc.reason, tc.ready, rsp.GetDesired().GetResources()["it"].GetReady())
			e2e.Equal(t, tc.reason, tc.fatal, len(rsp.GetResults()) > 0)
		})
	}
}
