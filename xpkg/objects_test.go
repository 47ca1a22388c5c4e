package xpkg_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// TestObjects checks the objects of Configurations for several releases of Crossplane.
func TestObjects(t *testing.T) {
	const versions = "  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]\n"
	xrd := func(version, spec string) string {
		return "apiVersion: apiextensions.crossplane.io/" + version + "\nkind: CompositeResourceDefinition\nmetadata: {name: xs.example.org}\nspec:\n  group: example.org\n  names: {kind: X, plural: xs}\n" + spec + versions
	}
	composition := func(spec string) string {
		return "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: X}\n" + spec
	}
	const operation = "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: o}\nspec: {mode: Pipeline, pipeline: []}\n"
	cases := map[string]struct {
		reason, constraint, object string
		want                       []string
	}{
		"Valid":       {"a valid XRD has no problem", "", xrd("v2", ""), nil},
		"Claims":      {"a v2 XRD has no claims", "", xrd("v2", "  claimNames: {kind: C, plural: cs}\n"), []string{"7: the API server refuses the CompositeResourceDefinition: spec: Invalid value: Claims aren't supported in apiextensions.crossplane.io/v2: remove claimNames, because users create the composite resource itself"}},
		"LegacyScope": {"a v2 XRD cannot have the scope LegacyCluster", ">=v2.0.0-0", xrd("v2", "  scope: LegacyCluster\n"), []string{`7: the API server refuses the CompositeResourceDefinition: spec.scope: Unsupported value: "LegacyCluster": supported values: "Namespaced", "Cluster"`}},
		"Schedule":    {"Crossplane must be able to parse a schedule", "", "apiVersion: ops.crossplane.io/v1alpha1\nkind: CronOperation\nmetadata: {name: c}\nspec:\n  schedule: every day\n  operationTemplate: {spec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: f}}]}}\n", []string{`5: Crossplane creates no Operation of the CronOperation: spec.schedule is not a cron schedule, such as "0 3 * * *" or "@daily": expected exactly 5 fields, found 2: [every day]`}},
		"NoSchedule":  {"a schedule that is missing is one problem", "", "apiVersion: ops.crossplane.io/v1alpha1\nkind: CronOperation\nmetadata: {name: c}\nspec:\n  operationTemplate: {spec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: f}}]}}\n", []string{"4: the API server refuses the CronOperation: spec.schedule: Required value"}},
		"Secret":      {"credentials of source Secret need a Secret in v2", "", composition("  mode: Pipeline\n  pipeline:\n  - step: a\n    functionRef: {name: f}\n    credentials:\n    - {name: c, source: Secret}\n"), []string{"11: the API server refuses the Composition: spec.pipeline[0].credentials[0]: Invalid value: the Secret source requires a secretRef"}},
		"OldSecret":   {"v1.20 accepts credentials without a Secret", "^v1.20.0", composition("  mode: Pipeline\n  pipeline:\n  - step: a\n    functionRef: {name: f}\n    credentials:\n    - {name: c, source: Secret}\n"), nil},
		"OldVersion":  {"v1.20 has no XRDs of v2", "<v2.0.0", xrd("v2", ""), []string{"1: Crossplane v1.20.11 does not serve kind CompositeResourceDefinition of apiextensions.crossplane.io/v2: version v2 does not exist; the versions are v1"}},
		"Operation":   {"an Operation has steps", ">=v2.0.0-0", operation, []string{"4: the API server refuses the Operation: spec.pipeline: Invalid value: 0: spec.pipeline in body should have at least 1 items"}},
		"NoRelease":   {"the newest release counts if the constraint allows no known release", ">=v3.0.0", operation, []string{"4: the API server refuses the Operation: spec.pipeline: Invalid value: 0: spec.pipeline in body should have at least 1 items"}},
		"Resources":   {"a Composition of mode Resources is validated by v1, if the constraint allows it", ">=v1.14.0", composition("  mode: Resources\n  resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}}]\n"), nil},
		"NoResources": {"v2 has no mode Resources", ">=v2.0.0", composition("  mode: Resources\n"), []string{`6: the API server refuses the Composition: spec.mode: Unsupported value: "Resources": supported values: "Pipeline"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := "  dependsOn: []\n"
			if tc.constraint != "" {
				spec = "  crossplane: {version: \"" + tc.constraint + "\"}\n"
			}
			var got []string
			var found xpkg.Problems
			_, err := xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{"a.yaml": metadata("Configuration", spec), "b.yaml": tc.object}), ".", xpkg.ReadOptions{})
			if err != nil && !errors.As(err, &found) {
				t.Fatal(err)
			}
			for _, p := range found {
				if p.Rule == "object" {
					_, at, _ := strings.Cut(p.Err().Error(), ":")
					got = append(got, at)
				}
			}
			slices.Sort(got)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
