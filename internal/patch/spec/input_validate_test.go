package spec_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

func TestInputValidate(t *testing.T) {
	cases := map[string]struct{ reason, input, want string }{
		"Nothing":          {"there has to be something to do", "{}", "resources: Required value: resources or environment patches are required"},
		"OnlyEnvironment":  {"patches of the environment are something", "{environment: {patches: [{fromFieldPath: a}]}}", ""},
		"OnlyPatchSets":    {"patch sets alone are not", "{patchSets: [{name: a}]}", "resources: Required value: resources or environment patches are required"},
		"NoName":           {"resources have names", "{resources: [{}]}", "resources[0].name: Required value: name is required"},
		"SetBeforeAll":     {"patch sets come first, without where they stand", "{patchSets: [{name: a}, {patches: []}], resources: [{}]}", "name: Required value: name is required"},
		"Transform":        {"a patch stands somewhere", "{resources: [{name: r, patches: [{fromFieldPath: a, transforms: [{}]}]}]}", `resources[0].patches[0].transforms[0].type: Invalid value: "": unknown transform type`},
		"SetPatch":         {"so do their patches", "{patchSets: [{name: a, patches: [{}]}]}", "patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"PatchOrder":       {"patches come before details", "{resources: [{name: r, patches: [{}], connectionDetails: [{}]}]}", "resources[0].patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"DetailOrder":      {"and details before readiness", "{resources: [{name: r, readinessChecks: [{}], connectionDetails: [{}]}]}", "resources[0].connectionDetails[0].type: Required value: connection detail type is required"},
		"DetailKey":        {"a key is one even if it is empty", "{resources: [{name: r, connectionDetails: [{name: a, type: FromConnectionSecretKey, fromConnectionSecretKey: ''}]}]}", ""},
		"DetailValue":      {"a value has to be there", "{resources: [{name: r, connectionDetails: [{name: a, type: FromValue}]}]}", "resources[0].connectionDetails[0].value: Required value: value connection detail requires a value"},
		"CheckNone":        {"no check needs no path", "{resources: [{name: r, readinessChecks: [{type: None}]}]}", ""},
		"CheckEmpty":       {"a check has a type", "{resources: [{name: r, readinessChecks: [{}]}]}", `resources[0].readinessChecks[0].type: Invalid value: "": unknown readiness check type`},
		"CheckStringOrder": {"what to compare with comes before where", "{resources: [{name: r, readinessChecks: [{type: MatchString}]}]}", "resources[0].readinessChecks[0].matchString: Required value: cannot be nil for type MatchString"},
		"CheckTruePath":    {"a check of a bool has a path", "{resources: [{name: r, readinessChecks: [{type: MatchTrue}]}]}", "resources[0].readinessChecks[0].fieldPath: Required value: cannot be empty"},
		"CheckConditionNo": {"a condition may be missing until it is used", "{resources: [{name: r, readinessChecks: [{type: MatchCondition}]}]}", ""},
		"EnvironmentOrder": {"each patch of the environment is looked at in its turn", "{environment: {patches: [{}, {type: PatchSet}]}}", "environment.patches[0].fromFieldPath: Required value: fromFieldPath must be set for patch type FromCompositeFieldPath"},
		"EnvironmentSet":   {"the environment has no patch sets", "{environment: {patches: [{type: PatchSet}]}}", `environment.patches[0][type]: Invalid value: "PatchSet": invalid environment patch type`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &spec.Resources{}
			if err := yaml.UnmarshalStrict([]byte(tc.input), r); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := r.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
