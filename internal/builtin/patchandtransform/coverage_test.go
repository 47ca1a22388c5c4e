package patchandtransform_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// TestCoverage runs an input. It compares the points of the input, and the points that the run
// reports.
func TestCoverage(t *testing.T) {
	const prefix = "observed: {composite: {resource: {apiVersion: example.org/v1, kind: Pier, metadata: {name: p}, spec: {size: s}}}, " +
		"resources: {seen: {resource: {apiVersion: v1, kind: Crane, status: {ok: true}}}}}\ninput:\n  "
	type points map[string]bool // whether the run reports the point
	cases := map[string]struct {
		reason, input string
		want          points
	}{
		"PatchSets": {
			"a patch set that two resources use has each patch once, and an unused set has no points",
			"{patchSets: [{name: a, patches: [{fromFieldPath: spec.size, toFieldPath: a}]}, {name: b, patches: [{fromFieldPath: spec.size, toFieldPath: b}]}], " +
				"resources: [{name: r, base: {kind: K}, patches: [{type: PatchSet, patchSetName: a}]}, {name: s, base: {kind: K}, patches: [{type: PatchSet, patchSetName: a}]}]}",
			points{"resources[0]": true, "resources[1]": true, "patchSets[0].patches[0]": true},
		},
		"Missing": {
			"a patch whose source has no value, or whose observed resource does not exist, is reported as such",
			"{resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.none, toFieldPath: a}, {type: ToCompositeFieldPath, fromFieldPath: status.ok, toFieldPath: a}]}]}",
			points{
				"resources[0]": true, "resources[0].patches[0]": false, "resources[0].patches[0] (source missing)": true,
				"resources[0].patches[1]": false, "resources[0].patches[1] (source missing)": true,
			},
		},
		"Branches": {
			"of a map and of a match, the selected branch is reported",
			"{resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.size, toFieldPath: a, transforms: " +
				"[{type: map, map: {l: large, s: small}}, {type: match, match: {patterns: [{type: literal, literal: x}, {type: regexp, regexp: '^s', result: y}]}}]}]}]}",
			points{
				"resources[0]": true, "resources[0].patches[0]": true,
				"resources[0].patches[0].transforms[0].map.l": false, "resources[0].patches[0].transforms[0].map.s": true,
				"resources[0].patches[0].transforms[1].match.patterns[0]": false, "resources[0].patches[0].transforms[1].match.patterns[1]": true,
				"resources[0].patches[0].transforms[1].match": false,
			},
		},
		"Checks": {
			"the readiness checks before the first that does not pass are reported with it",
			"{resources: [{name: seen, base: {kind: K}, readinessChecks: [{type: MatchTrue, fieldPath: status.ok}, {type: NonEmpty, fieldPath: status.url}, {type: None}]}]}",
			points{
				"resources[0]": true, "resources[0].readinessChecks[0]": true, "resources[0].readinessChecks[1]": true,
				"resources[0].readinessChecks[2]": false,
			},
		},
		"Dropped": {
			"a resource that lacks a required value is not composed",
			"{environment: {patches: [{fromFieldPath: spec.size, toFieldPath: a}]}, resources: [{name: r, base: {kind: K}, patches: [{fromFieldPath: spec.none, policy: {fromFieldPath: Required}}]}]}",
			points{
				"environment.patches[0]": true, "resources[0]": false,
				"resources[0].patches[0]": false, "resources[0].patches[0] (source missing)": true,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(t, prefix+tc.input)
			got := functiontest.Cover(t, patchandtransform.New(nil, true), req)
			e2e.Equal(t, tc.reason, tc.want, points(got))
		})
	}
}
