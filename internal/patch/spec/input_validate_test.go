package spec_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

func TestInputValidate(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Nothing":          {"resources or patches of the environment are required", "{}", "resources: Required value: resources or environment patches are required"},
		"OnlyEnvironment":  {"patches of the environment are enough", "{environment: {patches: [{fromFieldPath: a}]}}", ""},
		"OnlyPatchSets":    {"patch sets alone are not enough", "{patchSets: [{name: a}]}", "resources: Required value: resources or environment patches are required"},
		"NoName":           {"a resource must have a name", "{resources: [{}]}", "resources[0].name: Required value: name is required"},
		"SetBeforeAll":     {"patch sets are validated first, with errors without their path", "{patchSets: [{name: a}, {patches: []}], resources: [{}]}", "name: Required value: name is required"},
		"Transform":        {"the error in a transform has the path of its patch", "{resources: [{name: r, patches: [{fromFieldPath: a, transforms: [{}]}]}]}", `resources[0].patches[0].transforms[0].type: Invalid value: "": unknown transform type`},
		"SetPatch":         {"the error in a patch of a patch set has no path of the set", "{patchSets: [{name: a, patches: [{}]}]}", "patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"PatchOrder":       {"patches are validated before connection details", "{resources: [{name: r, patches: [{}], connectionDetails: [{}]}]}", "resources[0].patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"DetailOrder":      {"connection details are validated before readiness checks", "{resources: [{name: r, readinessChecks: [{}], connectionDetails: [{}]}]}", "resources[0].connectionDetails[0].type: Required value: connection detail type is required"},
		"DetailKey":        {"an empty connection secret key is accepted", "{resources: [{name: r, connectionDetails: [{name: a, type: FromConnectionSecretKey, fromConnectionSecretKey: ''}]}]}", ""},
		"DetailValue":      {"a connection detail of type FromValue must have a value", "{resources: [{name: r, connectionDetails: [{name: a, type: FromValue}]}]}", "resources[0].connectionDetails[0].value: Required value: value connection detail requires a value"},
		"CheckNone":        {"a readiness check of type None requires no path", "{resources: [{name: r, readinessChecks: [{type: None}]}]}", ""},
		"CheckEmpty":       {"a readiness check must have a type", "{resources: [{name: r, readinessChecks: [{}]}]}", `resources[0].readinessChecks[0].type: Invalid value: "": unknown readiness check type`},
		"CheckStringOrder": {"the value of a readiness check is validated before its path", "{resources: [{name: r, readinessChecks: [{type: MatchString}]}]}", "resources[0].readinessChecks[0].matchString: Required value: cannot be nil for type MatchString"},
		"CheckTruePath":    {"a readiness check of type MatchTrue must have a path", "{resources: [{name: r, readinessChecks: [{type: MatchTrue}]}]}", "resources[0].readinessChecks[0].fieldPath: Required value: cannot be empty"},
		"CheckConditionNo": {"a readiness check of type MatchCondition may have no condition", "{resources: [{name: r, readinessChecks: [{type: MatchCondition}]}]}", ""},
		"EnvironmentOrder": {"patches of the environment are validated in order", "{environment: {patches: [{}, {type: PatchSet}]}}", "environment.patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EnvironmentSet":   {"the environment must not have patches of type PatchSet", "{environment: {patches: [{type: PatchSet}]}}", `environment.patches[0][type]: Invalid value: "PatchSet": invalid environment patch type`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &spec.Resources{}
			e2e.NoError(t, yaml.UnmarshalStrict([]byte(tc.input), r))
			got := ""
			if err := r.Validate(); err != nil {
				got = err.Error()
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
