package suite_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/suite"
)

// TestFeatures runs cases with features of Crossplane that are switched on or off.
func TestFeatures(t *testing.T) {
	t.Parallel()
	const bucket = "defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml, profile: v1.20}\n"
	files := map[string]string{
		"legacy.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: legacy}
spec:
  compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}
  resources:
  - {name: bucket, base: {apiVersion: example.org/v1, kind: Bucket}}
`,
		"alpha.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: alpha}
spec:
  compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}
  publishConnectionDetailsWithStoreConfigRef: {name: vault}
  environment: {patches: [{fromFieldPath: zone, toFieldPath: status.zone}]}
  resources:
  - name: bucket
    base: {apiVersion: example.org/v1, kind: Bucket}
    patches:
    - {type: FromEnvironmentFieldPath, fromFieldPath: zone, toFieldPath: spec.zone}
    - {fromFieldPath: spec.publishConnectionDetailsTo.configRef.name, toFieldPath: spec.store}
  functions: [{name: f, type: Container, container: {image: example.org/f}}]
`,
		"extra.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: extra}
spec:
  compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}
  mode: Pipeline
  pipeline:
` + templateStep + `          apiVersion: meta.gotemplating.fn.crossplane.io/v1alpha1
          kind: ExtraResources
          requirements:
            maps: {apiVersion: v1, kind: ConfigMap, matchName: zones}
          ---
          {{ range (index (.extraResources | default dict) "maps" | default dict).items }}
          apiVersion: example.org/v1
          kind: Zone
          metadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: zone}}
          {{ end }}
`,
		"strict.yaml": patches("loose", "spec.nowhere"),
		"xrd.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xbuckets.example.crossplane.io}
spec:
  group: example.crossplane.io
  names: {kind: XBucket, plural: xbuckets}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {bucketRegion: {type: string}}}}}}
`,
		"crd.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.s3.aws.upbound.io}
spec:
  group: s3.aws.upbound.io
  names: {kind: Bucket, plural: buckets}
  scope: Cluster
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {forProvider: {type: object, properties: {region: {type: string}}}}}}}}
`,
	}
	for name, tc := range map[string]struct {
		reason, text string
		flags        composition.Features
		want, warned []string
	}{
		"Functions": {
			"without functions, Crossplane v1.16 composes only for mode Resources", bucket + `cases:
- name: pipeline
  crossplaneVersion: v1.16
  features: {composition-functions: false}
  expect: {count: {total: 0}, conditions: {Ready: True}}
- name: resources
  composition: legacy.yaml
  crossplaneVersion: v1.16
  features: {composition-functions: false}
  expect: {only: bucket}
- name: later
  features: {composition-functions: false}
  expect: {count: {total: 1}}
`, nil,
			[]string{"s.yaml/pipeline passed", "s.yaml/resources passed", "s.yaml/later passed"},
			[]string{
				`composition.yaml:1: Composition "example-render" composes nothing: without the feature composition-functions, Crossplane runs no pipeline`,
				"Crossplane v1.20 ignores the switch composition-functions: since v1.17, the feature is always on",
			},
		},
		"Extra": {
			"without extra resources, what a function requires is ignored", bucket + `cases:
- name: "on"
  composition: extra.yaml
  functions: []
  extraResources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: zones}}]
  crossplaneVersion: v1.16
  expect: {only: zone}
- name: "off"
  composition: extra.yaml
  functions: []
  extraResources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: zones}}]
  crossplaneVersion: v1.16
  features: {composition-functions-extra-resources: false}
  expect: {count: {total: 0}}
`, nil, []string{"s.yaml/on passed", "s.yaml/off passed"}, nil,
		},
		"Schemas": {
			"without schema aware validation, patches to unknown fields are valid", bucket + `cases:
- name: "on"
  composition: strict.yaml
  xrd: xrd.yaml
  schemas: crd.yaml
  expect: {valid: true}
- name: "off"
  composition: strict.yaml
  xrd: xrd.yaml
  schemas: crd.yaml
  features: {composition-webhook-schema-validation: false}
  expect: {valid: true}
`, nil,
			[]string{
				"s.yaml/on failed", `  9: Composition at strict.yaml:18: spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: kind XBucket of example.crossplane.io/v1 has no field spec.nowhere`,
				"s.yaml/off passed",
			},
			[]string{`strict.yaml:18: spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: kind XBucket of example.crossplane.io/v1 has no field spec.nowhere`},
		},
		"Alpha": {
			"without functions and environment, Crossplane v1.11 applies only patches, and external secret stores set a field", `defaults:
  xr: xr.yaml
  composition: alpha.yaml
  crossplaneVersion: v1.11
  context: {apiextensions.crossplane.io/environment: {zone: z}}
cases:
- name: functions
  features: {composition-functions: false}
  expect: {resources: {bucket: {spec.zone: z, spec.store: {absent: true}}}}
- name: environment
  features: {composition-functions: false, environment-configs: false}
  expect: {resources: {bucket: {spec.zone: {absent: true}}}}
- name: stores
  features: {composition-functions: false, external-secret-stores: true}
  expect: {resources: {bucket: {spec.store: vault}}}
`, nil,
			[]string{"s.yaml/functions passed", "s.yaml/environment passed", "s.yaml/stores passed"},
			[]string{"alpha.yaml:1: there is no environment, so its patches have no effect: set apiextensions.crossplane.io/environment in the context"},
		},
		"Stores": {
			"only Crossplane v1 has publishConnectionDetailsTo, with a default", bucket + `cases:
- name: v1
  xrd: xrd.yaml
  xr: {patch: {spec: {publishConnectionDetailsTo: {name: secret}}}}
  expect: {xr: {spec.publishConnectionDetailsTo.configRef.name: default}}
- name: wrong
  xrd: xrd.yaml
  profile: v1.14
  xr: {patch: {spec: {publishConnectionDetailsTo: {configRef: {name: vault}}}}}
- name: v2
  xrd: xrd.yaml
  profile: v2
  xr: {patch: {spec: {publishConnectionDetailsTo: {name: secret}}}}
`, nil,
			[]string{
				"s.yaml/v1 passed",
				"s.yaml/wrong failed", "  9: s.yaml:12: an API server refuses this XBucket: spec.publishConnectionDetailsTo.name: Required value",
				"s.yaml/v2 failed", `  13: s.yaml:16: an API server refuses this XBucket: unknown field "spec.publishConnectionDetailsTo"`,
			},
			nil,
		},
		"Names": {
			"an unknown feature, and one that the version does not have, fail the case", bucket + `cases:
- {name: unknown, features: {composition-function: false}}
- {name: removed, crossplaneVersion: v2.2, features: {composition-functions: false}}
`, nil,
			[]string{
				"s.yaml/unknown failed", `  5: features: "composition-function" is not a feature of Crossplane | did you mean composition-functions? The features are composition-functions, composition-functions-extra-resources, composition-revisions, composition-webhook-schema-validation, custom-to-managed-resource-conversion, dependency-version-downgrades, dependency-version-upgrades, deployment-runtime-configs, environment-configs, external-secret-stores, function-response-cache, operations, pipeline-inspector, provider-deletion-protection, realtime-compositions, signature-verification, ssa-claims, usages`,
				"s.yaml/removed failed", "  6: features: version v2.2 of Crossplane has no switch composition-functions: v1.20 was the last version with it, and v1.16 the last in which it had an effect | imitate another version of Crossplane",
			},
			nil,
		},
		"Flags": {
			"the flags of the run have priority over the case", bucket + `cases:
- {name: a, crossplaneVersion: v1.16, features: {composition-functions: true}, expect: {count: {total: 0}}}
- name: operation
  xr: null
  composition: null
  profile: v2
  operation: {apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, metadata: {name: o}, spec: {mode: Pipeline, pipeline: []}}
  features: {operations: false}
  expect: {error: the feature operations is switched off}
`,
			composition.Features{composition.FeatureFunctions: false},
			[]string{"s.yaml/a passed", "s.yaml/operation failed", "  11: features: version v2.4 of Crossplane has no switch composition-functions: v1.20 was the last version with it, and v1.16 the last in which it had an effect | imitate another version of Crossplane"},
			[]string{`composition.yaml:1: Composition "example-render" composes nothing: without the feature composition-functions, Crossplane runs no pipeline`},
		},
		"Operations": {
			"without Operations, no Operation is rendered", `cases:
- name: operation
  operation: {apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, metadata: {name: o}, spec: {mode: Pipeline, pipeline: []}}
  features: {operations: false}
  expect: {error: the feature operations is switched off}
`, nil, []string{"s.yaml/operation passed"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := map[string]string{"s.yaml": head + tc.text}
			maps.Copy(all, files)
			o := options(example(t, all))
			o.Features, o.Parallel = tc.flags, 1
			var warned []string
			o.Config.Progress = func(e progress.Event) {
				if e.Kind == progress.Warning {
					warned = append(warned, e.Text)
				}
			}
			e2e.Equal(t, tc.reason, tc.want, lines(run(t, o, suite.Selection{})))
			e2e.Equal(t, tc.reason+": other warnings", strings.Join(tc.warned, "\n"), strings.Join(warned, "\n"))
		})
	}
}
