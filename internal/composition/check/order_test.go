package check_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestOrder checks which steps are reported because of the steps before them. The functions are
// named without the prefix "function-".
func TestOrder(t *testing.T) {
	patch := func(text string) string {
		return "\n    input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{name: a, base: {apiVersion: gold.test/v1, kind: Bucket}, patches: [" + text + "]}]}"
	}
	inputs := map[string]string{
		"patch-and-transform":  patch(""),
		"patch-and-transform ": patch("{type: FromEnvironmentFieldPath, fromFieldPath: a}, {type: CombineFromEnvironment, toFieldPath: b, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: a}]}}"),
		"patch-and-transform+": patch("{type: ToEnvironmentFieldPath, fromFieldPath: spec.text, toFieldPath: a}"),
		"tag-manager ":         "\n    input: {apiVersion: tag-manager.fn.crossplane.io/v1beta1, kind: ManagedTags, addTags: [{type: FromEnvironmentFieldPath, fromFieldPath: tags}]}",
	}
	cases := map[string]struct{ reason, spec, steps, want string }{
		"Right":       {"the environment and the resources are first", "", "environment-configs, patch-and-transform , tag-manager , auto-ready", ""},
		"NoStep":      {"a patch needs an environment", "", "patch-and-transform ", `10: spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: no step before step "s0" gives it an environment: add a step of function-environment-configs before it`},
		"Later":       {"an environment comes too late", "", "patch-and-transform , environment-configs", `no step before step "s0" gives it an environment: move step "s1" before it`},
		"Tags":        {"a tag needs an environment", "", "patch-and-transform, tag-manager ", `13: spec.pipeline[1].input.addTags[0].fromFieldPath: no step before step "s1" gives it`},
		"Written":     {"a patch writes the environment", "", "patch-and-transform+, tag-manager ", ""},
		"Unknown":     {"any other function may write the environment", "", "go-templating, patch-and-transform ", ""},
		"Spec":        {"Crossplane before v2 reads the environment itself", "  environment: {environmentConfigs: []}\n", "patch-and-transform ", ""},
		"ReadyFirst":  {"nothing is ready before it is composed", "", "environment-configs, auto-ready, go-templating", `10: spec.pipeline[1]: step "s1" has no effect, because no step before it composes resources: move it after step "s2"`},
		"ReadyTwice":  {"a later step of the same function does the work", "", "auto-ready, go-templating, auto-ready", ""},
		"ReadyBehind": {"another function may compose resources", "", "acme, auto-ready, go-templating", ""},
		"ReadyAlone":  {"no step composes resources", "", "environment-configs, auto-ready", ""},
		"Sequence":    {"an order is of resources", "", "sequencer, go-templating", `step "s0" has no effect`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := head + tc.spec + "  mode: Pipeline\n  pipeline:\n"
			for i, step := range strings.Split(tc.steps, ", ") {
				text += "  - step: s" + string(rune('0'+i)) + "\n    functionRef: {name: function-" + strings.Trim(step, " +") + "}" + inputs[step] + "\n"
			}
			var got []string
			byName := func(name string) string { return name }
			for _, p := range check.Silent(t.Context(), entry(t, text), options(nil, check.Warn).Inputs, byName, false) {
				got = append(got, p.Error())
			}
			if len(got) > 1 || !strings.Contains(strings.Join(got, ""), tc.want) || (tc.want == "") != (len(got) == 0) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	e := entry(t, head+"  mode: Pipeline\n  pipeline:\n  - step: s\n    functionRef: {name: function-patch-and-transform}"+inputs["patch-and-transform "]+"\n")
	var none []composition.Problem
	e2e.Equal(t, "the caller gives an environment", none, check.Silent(t.Context(), e, options(nil, check.Warn).Inputs, func(name string) string { return name }, true))
}
