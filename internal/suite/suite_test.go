package suite_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite"
)

const head = "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\n"

// example returns the files of the example in the docs, and more files.
func example(t testing.TB, more map[string]string) afero.Fs {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"xr.yaml", "composition.yaml", "functions.yaml"} {
		text := []byte(e2e.ReadFile(t, "../../examples/bucket", name))
		files[name] = string(text)
	}
	maps.Copy(files, more)
	fsys := afero.NewMemMapFs()
	for path, text := range files {
		e2e.NoError(t, afero.WriteFile(fsys, filepath.FromSlash(path), []byte(text), 0o644))
	}
	return fsys
}

func options(fsys afero.Fs) suite.Options {
	return suite.Options{Config: session.Config{Reader: manifest.Reader{FS: fsys}}, Now: time.Now}
}

// loaded returns the suites at a path.
func loaded(t testing.TB, o suite.Options, path string) []*suite.Suite {
	t.Helper()
	return e2e.Must(suite.Load(t.Context(), o.Config.Reader, []string{path}))(t)
}

func planned(t testing.TB, suites []*suite.Suite, sel suite.Selection) []suite.Item {
	t.Helper()
	return e2e.Must(suite.Plan(suites, sel))(t)
}

// run loads and runs all cases below the working directory.
func run(t testing.TB, o suite.Options, sel suite.Selection) []suite.Outcome {
	t.Helper()
	return runItems(t, planned(t, loaded(t, o, "."), sel), o)
}

func runItems(t testing.TB, items []suite.Item, o suite.Options) (all []suite.Outcome) {
	t.Helper()
	err := suite.Run(t.Context(), items, o, func(out suite.Outcome) error {
		all = append(all, out)
		return nil
	})
	e2e.NoError(t, err)
	return all
}

// lines formats outcomes: "name status", and a line for each failure.
func lines(all []suite.Outcome) []string {
	var out []string
	for _, o := range all {
		out = append(out, o.Name()+" "+string(o.Status))
		for _, f := range o.Failures {
			line := fmt.Sprintf("  %d: %s", f.Line, f.Text)
			if f.Hint != "" {
				line += " | " + f.Hint.Spell(nil)
			}
			out = append(out, line)
		}
	}
	return out
}

// patches returns a Composition that patches from a field and sets a validation mode.
func patches(mode, from string) string {
	return `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c, annotations: {crossplane.io/composition-schema-aware-validation-mode: ` + mode + `}}
spec:
  compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}
  mode: Pipeline
  pipeline:
  - step: patch-and-transform
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: storage-bucket
        base: {apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket, spec: {forProvider: {}}}
        patches:
        - type: FromCompositeFieldPath
          fromFieldPath: ` + from + `
          toFieldPath: spec.forProvider.region
`
}

// TestCases has a suite for each feature of a case.
func TestCases(t *testing.T) {
	const bucket = "defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}\n"
	const literal = `defaults:
  xr: {apiVersion: example.crossplane.io/v1, kind: XBucket, metadata: {name: a}, spec: {bucketRegion: r}}
  composition:
    apiVersion: apiextensions.crossplane.io/v1
    kind: Composition
    metadata: {name: literal}
    spec:
      compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}
      mode: Pipeline
      pipeline:
      - {step: one, functionRef: {name: function-literal}, input: {response: {}}}
      - {step: two, functionRef: {name: function-panics}}
`
	cases := map[string]struct {
		reason, text string
		files        map[string]string
		want         []string
	}{
		"Pass": {"an empty expectation requires only that the render succeeds", bucket + "cases:\n- name: a\n", nil, []string{"s.yaml/a passed"}},
		"XR": {
			"the composite resource is a file, an object, or a patch", bucket + `cases:
- {name: file, xr: xr.yaml, expect: {xr: {spec.bucketRegion: us-east-2}}}
- {name: object, xr: {apiVersion: example.crossplane.io/v1, kind: XBucket, metadata: {name: b}, spec: {bucketRegion: b}}, expect: {xr: {spec.bucketRegion: b, metadata.name: b}}}
- {name: patch, xr: {patch: {spec: {bucketRegion: p}, metadata: {labels: {a: b}}}}, expect: {xr: {spec.bucketRegion: p, metadata.name: example-render, metadata.labels.a: b}}}
- {name: of file, xr: {file: xr.yaml, patch: {spec: {bucketRegion: f}}}, expect: {xr: {spec.bucketRegion: f}}}
- {name: of a part, xr: {file: part.yaml, patch: {apiVersion: example.crossplane.io/v1, kind: XBucket}}, expect: {xr: {spec.bucketRegion: p}}}
- {name: of case, xr: {from: patch, patch: {spec: {x: 1}}}, expect: {xr: {spec.bucketRegion: p, spec.x: 1}}}
- {name: row, each: [q, r], xr: {patch: {spec: {bucketRegion: "${each}"}}}, expect: {xr: {spec.bucketRegion: "${each}"}}}
- {name: of row, xr: {from: row/2}, expect: {xr: {spec.bucketRegion: r}}}
`,
			map[string]string{"part.yaml": "metadata: {name: part}\nspec: {bucketRegion: p}"},
			[]string{"s.yaml/file passed", "s.yaml/object passed", "s.yaml/patch passed", "s.yaml/of file passed", "s.yaml/of a part passed", "s.yaml/of case passed", "s.yaml/row/1 passed", "s.yaml/row/2 passed", "s.yaml/of row passed"},
		},
		"XRErrors": {
			"an invalid composite resource fails its case", "defaults: {composition: composition.yaml, functions: functions.yaml}\n" + `cases:
- {name: none}
- {name: no default, xr: {patch: {}}}
- {name: itself, xr: {from: itself, patch: {}}}
- {name: unknown, xr: {from: itslef}}
- {name: missing, xr: other.yaml}
- {name: two, xr: {from: a, file: b}}
- {name: broken, xr: s-broken.yaml}
`,
			map[string]string{"s-broken.yaml": "a: ["},
			[]string{
				"s.yaml/none failed", "  5: the case has no composite resource (xr)",
				"s.yaml/no default failed", "  6: xr: cannot patch: the defaults have no composite resource | set file or from beside patch",
				"s.yaml/itself failed", "  7: xr: the case patches itself",
				"s.yaml/unknown failed", `  8: xr: there is no case "itslef": is it "itself"?`,
				"s.yaml/missing failed", `  9: xr: reading "other.yaml": file does not exist`,
				"s.yaml/two failed", "  10: xr: file and from cannot both be set",
				"s.yaml/broken failed", "  11: loading the composite resource: s-broken.yaml:1: did not find expected node content: the document ends before a { or [ is closed | check whether the end of the file is missing",
			},
		},
		"Alone": {
			"an error in one case does not affect the others", bucket + `cases:
- {name: unknown, expcet: {}}
- {name: missing, composition: nowhere.yaml}
- {name: none, composition: null}
- {name: cel, expect: {cel: "1 +"}}
- {name: forever, expect: {cel: "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, true))))))"}}
- {name: golden, expect: {golden: broken.yaml}}
- {name: good}
- {name: mock, mocks: {patch: {response: {}}}}
- {name: response, mocks: {patch-and-transform: {response: {meta: []}}}}
- {name: both, mocks: {patch-and-transform: {response: {}, recording: x}}}
- {name: recording, mocks: {patch-and-transform: {recording: x}}}
- {name: version, crossplaneVersion: v0.9}
- {name: skip, skip: later}
- {name: severity, mocks: {patch-and-transform: {response: {results: [{severity: FATAL, message: m}]}}}}
- {name: field, mocks: {patch-and-transform: {response: {results: [{messge: m}]}}}}
`,
			map[string]string{"broken.yaml": "a: b: c"},
			[]string{
				"s.yaml/unknown failed", "  5: expcet: there is no such field: is it expect?",
				"s.yaml/missing failed", `  6: composition: reading "nowhere.yaml": file does not exist`,
				"s.yaml/none failed", "  7: the case has no composition",
				"s.yaml/cel failed", "  8: CEL 1 +: the expression does not compile: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER} at column 4",
				"s.yaml/forever failed", "  9: CEL [0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, true)))))): the expression exceeds the cost limit",
				"s.yaml/golden failed", "  10: reading a golden file: broken.yaml:1: mapping values are not allowed in this context: found \": c\" in a value | quote the whole value: '…', in which '' is a single quote",
				"s.yaml/good passed",
				"s.yaml/mock failed", `  12: no pipeline has step "patch"; the steps are patch-and-transform`,
				"s.yaml/response failed", "  13: mocks.patch-and-transform: response.meta must be an object, not a list",
				"s.yaml/both failed", "  14: mocks.patch-and-transform: expected either a response or a recording",
				"s.yaml/recording failed", "  15: mocks.patch-and-transform: recordings are not supported here",
				"s.yaml/version failed", `  16: crossplaneVersion: version v0.9 of Crossplane has no functions: expected v1.11 or later`,
				"s.yaml/skip skipped",
				"s.yaml/severity failed", `  18: mocks.patch-and-transform: response.results[0].severity is "FATAL", expected one of SEVERITY_UNSPECIFIED, SEVERITY_FATAL, SEVERITY_WARNING, SEVERITY_NORMAL, did you mean SEVERITY_FATAL?`,
				"s.yaml/field failed", "  19: mocks.patch-and-transform: response.results[0].messge does not exist, did you mean message?",
			},
		},
		"Panic": {
			"a function that panics fails its case", literal + `cases:
- {name: panics}
- {name: mocked, mocks: {two: {response: {}}}}
- {name: expected, expect: {error: panicked}}
`, nil,
			[]string{"s.yaml/panics failed", `  16: rendering composite resource "a": running pipeline step "two": function "function-panics" panicked: oh`, "s.yaml/mocked passed", "s.yaml/expected passed"},
		},
		"Mock": {
			"a mock adds to the desired state of earlier steps, as functions do", literal + `cases:
- name: adds
  mocks:
    one: {response: {desired: {resources: {a: {ready: READY_TRUE, resource: {apiVersion: v1, kind: ConfigMap}}}}, context: {k: 1}}}
    two: {response: {desired: {resources: {b: {resource: {apiVersion: v1, kind: Secret}}}, composite: {resource: {status: {url: u}}, connectionDetails: {pass: c2VjcmV0}}}, results: [{severity: SEVERITY_WARNING, message: hm}], conditions: [{type: Own, status: STATUS_CONDITION_TRUE, reason: Good}]}}
  expect:
    only: [a, b]
    ready: {resources: a, unready: b, xr: false}
    xr: {status.url: u}
    results: {severity: Warning, message: hm, step: two}
    conditions: {Own: {status: True, reason: Good}}
    context: {k: 1}
    connectionDetails: {pass: secret}
`, nil,
			[]string{"s.yaml/adds passed"},
		},
		"Fatal": {
			"a fatal result can be expected", literal + `  mocks: {one: {response: {results: [{severity: SEVERITY_FATAL, message: no region}]}}}
  expect: {ready: true}
cases:
- {name: met, expect: {fatal: region}}
- {name: other, expect: {fatal: {equals: "no"}}}
- {name: unexpected}
- {name: none, mocks: {one: {response: {results: null}}, two: {response: {}}}, expect: {fatal: x}}
- {name: no error, mocks: {one: {response: {results: null}}, two: {response: {}}}, expect: {error: x}}
- {name: error, expect: {error: {matches: 'step "one"'}}}
- {name: pattern, expect: {fatal: {matches: '('}}}
- {name: any, mocks: {one: {response: {results: null}}, two: {response: {}}}, expect: {fatal: {}}}
`, nil,
			[]string{
				"s.yaml/met passed",
				"s.yaml/other failed", `  19: want a fatal result that equals "no", got: no region`,
				"s.yaml/unexpected failed", `  20: rendering composite resource "a": pipeline step "one" returned a fatal result: no region`,
				"s.yaml/none failed", `  21: want a fatal result that contains "x", but the render succeeded`,
				"s.yaml/no error failed", `  22: want an error that contains "x", but the render succeeded`,
				"s.yaml/error passed",
				"s.yaml/pattern failed", "  24: invalid regular expression \"(\": error parsing regexp: missing closing ): `(`",
				"s.yaml/any failed", "  25: want a fatal result that has any text, but the render succeeded",
			},
		},
		"Observe": {
			"readiness is checked after several passes", bucket + `cases:
- {name: ready, observe: {fixtures: [{match: {resource: storage-bucket}, ready: true}]}, expect: {ready: {after: 2}, passes: 3}}
- {name: soon, observe: {fixtures: [{match: {resource: storage-bucket}, from: 2, ready: true}]}, expect: {ready: {after: 2}}}
- {name: later, observe: {fixtures: [{match: {resource: storage-bucket}, from: 2, ready: true}]}, expect: {ready: {after: 3}}}
- {name: file, observe: {fixtures: f.yaml, passes: 4}, expect: {ready: true}}
- {name: bad, observe: {fixtures: [{match: {}, redy: true}]}}
`,
			map[string]string{"f.yaml": "apiVersion: xfn.dev/v1alpha1\nkind: ObserveFixtures\nfixtures:\n- {match: {resource: storage-bucket}, ready: true}\n"},
			[]string{
				"s.yaml/ready passed",
				"s.yaml/soon failed", "  6: the composite resource is not ready after 2 passes (Creating: Unready resources: storage-bucket); resources that are not ready: storage-bucket",
				"s.yaml/later passed",
				"s.yaml/file passed",
				"s.yaml/bad failed", "  9: loading fixtures: s.yaml:9: fixtures[0].redy: there is no such field: is it ready?",
			},
		},
		"Inputs": {
			"a case has all inputs of a render", literal + `  mocks: {two: {response: {}}}
cases:
- {name: profile, profile: v1.20, expect: {xr: {spec.bucketRegion: r, metadata.name: a}}}
- {name: version, crossplaneVersion: v1.20, expect: {xr: {metadata.name: a}}}
- {name: xrd, xrd: xrd.yaml, expect: {xr: {spec.size: 3}}}
- {name: xrd missing, xrd: other.yaml}
- {name: xrd invalid, xrd: xrd.yaml, xr: {patch: {spec: {sise: 1, size: big}}}}
- {name: xrd refuses, xrd: xrd.yaml, xr: {patch: {spec: {size: 9}}}, expect: {error: less than or equal to 5}}
- {name: xrd keys, xrd: xrd.yaml, mocks: {one: {response: {desired: {composite: {connectionDetails: {user: dQ==, password: cA==}}}}}}, expect: {connectionDetails: {user: u, password: {exists: false}}}}
- {name: xrd broken, xrd: broken.yaml}
- {name: context, context: {a: {b: 1}}, contextFiles: {c: c.yaml}, mocks: {one: {response: {context: {d: 2}}}}, expect: {context: {a.b: 1, c: [x], d: 2}}}
- {name: observed, observed: [{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {crossplane.io/composition-resource-name: s}}}], mocks: {one: {response: {desired: {resources: {s: {resource: {apiVersion: v1, kind: Secret}}}}}}}, expect: {resources: {s: {metadata.name: s}}}}
- {name: required, required: nope.yaml}
- {name: functions, functions: [{apiVersion: v1, kind: Secret}]}
`,
			map[string]string{
				"c.yaml":      "[x]",
				"xrd.yaml":    "{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: xbuckets.example.crossplane.io}, spec: {group: example.crossplane.io, names: {kind: XBucket, plural: xbuckets}, connectionSecretKeys: [user], versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {bucketRegion: {type: string}, size: {type: integer, default: 3, maximum: 5}}}}}}}]}}",
				"broken.yaml": "{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: {name: x}, spec: {group: example.crossplane.io, names: {kind: XBucket}, versions: [{name: v1}]}}",
			},
			[]string{
				"s.yaml/profile passed", "s.yaml/version passed", "s.yaml/xrd passed",
				"s.yaml/xrd missing failed", `  20: xrd: reading "other.yaml": file does not exist`,
				"s.yaml/xrd invalid failed",
				`  21: s.yaml:21: an API server refuses this XBucket: unknown field "spec.sise", did you mean size?`,
				`  21: s.yaml:21: an API server refuses this XBucket: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`,
				"s.yaml/xrd refuses passed", "s.yaml/xrd keys passed",
				"s.yaml/xrd broken failed", "  24: loading the XRD: broken.yaml:1: version v1 has no schema",
				"s.yaml/context passed", "s.yaml/observed passed",
				"s.yaml/required failed", `  27: required: reading "nope.yaml": file does not exist`,
				"s.yaml/functions failed", `  28: loading functions: s.yaml:28: expected a Function, got a Secret without a name`,
			},
		},
		"Valid": {
			"valid checks composed resources by their schemas", bucket + `  ` + `
cases:
- {name: none, expect: {valid: true}}
- {name: fits, schemas: [crd.yaml, xrd.yaml], expect: {valid: true}}
- {name: not, xr: {patch: {spec: {bucketRegion: 7}}}, schemas: [crd.yaml, xrd.yaml], expect: {valid: true}}
- {name: unknown, schemas: crd.yaml, expect: {valid: true}}
- {name: ignored, schemas: crd.yaml, expect: {valid: {all: true, ignore: example.crossplane.io/v1/XBucket}}}
- {name: want none, schemas: [crd.yaml, xrd.yaml], expect: {valid: false}}
- {name: bad schema, schemas: bad.yaml, expect: {valid: true}}
- {name: no file, schemas: nope.yaml, expect: {valid: true}}
- {name: own kinds, mocks: {patch-and-transform: {response: {desired: {resources: {c: {resource: {apiVersion: v1, kind: ConfigMap, dta: {}}}}}}}}, expect: {valid: {all: true, ignore: XBucket}}}
- {name: not validated, schemas: crd.yaml, expect: {valid: false}}
- {name: bad XRD, schemas: [crd.yaml, policy.yaml], expect: {valid: false}}
- {name: above, schemas: apis, expect: {valid: true}}
`,
			map[string]string{
				"apis/xbuckets/crd.yaml": "",
				"crd.yaml":               "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: buckets.s3.aws.upbound.io}, spec: {scope: Cluster, group: s3.aws.upbound.io, names: {kind: Bucket, plural: buckets}, versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {forProvider: {type: object, properties: {region: {type: string}}}}}}}}}]}}",
				"bad.yaml":               "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: buckets.s3.aws.upbound.io}\nspec: {scope: Cluster, group: s3.aws.upbound.io, names: {kind: Bucket, plural: buckets}, versions: [{name: v1beta1, served: true, storage: true,\n  schema: {openAPIV3Schema: {type: object, properties: {spec: {type: objct}}}}}]}\n",
				"xrd.yaml":               "{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: {name: xbuckets.example.crossplane.io}, spec: {scope: Cluster, group: example.crossplane.io, names: {kind: XBucket, plural: xbuckets}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {bucketRegion: {x-kubernetes-preserve-unknown-fields: true}}}}}}}]}}",
				"policy.yaml":            "{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: {name: xbuckets.example.crossplane.io}, spec: {scope: Cluster, defaultCompositeDeletePolicy: Bakground, group: example.crossplane.io, names: {kind: XBucket, plural: xbuckets}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {bucketRegion: {x-kubernetes-preserve-unknown-fields: true}}}}}}}]}}",
			},
			[]string{
				"s.yaml/none failed", "  6: composite resource: XBucket of example.crossplane.io/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore", "  6: storage-bucket: Bucket of s3.aws.upbound.io/v1beta1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore",
				"s.yaml/fits passed",
				"s.yaml/not failed", `  8: storage-bucket: spec.forProvider.region: Invalid value: "integer": spec.forProvider.region in body must be of type string: "integer" (set by step patch-and-transform)`,
				"s.yaml/unknown failed", "  9: composite resource: XBucket of example.crossplane.io/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore",
				"s.yaml/ignored passed",
				"s.yaml/want none failed", "  11: want an invalid object, but all are valid",
				"s.yaml/bad schema failed", "  12: composite resource: XBucket of example.crossplane.io/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore", `  12: storage-bucket: the definition of its kind at bad.yaml:1 is invalid: spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Unsupported value: "objct": supported values: "array", "boolean", "integer", "number", "object", "string", did you mean object?`,
				"s.yaml/no file failed", `  13: loading schemas: reading "nope.yaml": file does not exist`,
				"s.yaml/own kinds failed", `  14: c: unknown field "dta", did you mean data? (set by step patch-and-transform)`,
				"s.yaml/not validated failed", "  15: composite resource: XBucket of example.crossplane.io/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore",
				"s.yaml/bad XRD failed", `  16: composite resource: the definition of its kind at policy.yaml:1 is invalid: spec.defaultCompositeDeletePolicy: Unsupported value: "Bakground": supported values: "Background", "Foreground", did you mean Background?`,
				"s.yaml/above failed", `  17: loading schemas: the directory "apis" has no .yaml or .yml file | name a file, or another directory: directories in it are not read`,
			},
		},
		"ValidComposition": {
			"valid checks the Composition in its validation mode", `defaults: {xr: xr.yaml, functions: functions.yaml, xrd: xrd.yaml, schemas: crd.yaml, composition: loose.yaml, expect: {valid: true}}
cases:
- {name: loose}
- {name: again}
- {name: warn, composition: warn.yaml}
- {name: strict, composition: strict.yaml, schemas: []}
- {name: integrity, composition: integrity.yaml}
- {name: inline, composition: {apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: c}, sepc: {}, spec: {mode: Pipeline, compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}, pipeline: [{step: a, functionRef: {name: function-literal}, input: {apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: {}}}]}}}
- {name: ignored, expect: {valid: {all: true, ignore: Composition}}}
- {name: want none, expect: {valid: false}}
- {name: v2.3, composition: required.yaml}
- {name: v1.20, composition: required.yaml, crossplaneVersion: v1.20}
`,
			map[string]string{
				"crd.yaml":       "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: buckets.s3.aws.upbound.io}, spec: {scope: Cluster, group: s3.aws.upbound.io, names: {kind: Bucket, plural: buckets}, versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {forProvider: {type: object, properties: {region: {type: string}}}}}}}}}]}}",
				"xrd.yaml":       "{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: {name: xbuckets.example.crossplane.io}, spec: {scope: Cluster, group: example.crossplane.io, names: {kind: XBucket, plural: xbuckets}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {bucketRegion: {type: string}}}}}}}]}}",
				"warn.yaml":      patches("warn", "spec.bucketRegoin"),
				"loose.yaml":     patches("loose", "spec.bucketRegoin"),
				"strict.yaml":    patches("strict", "spec.bucketRegion"),
				"required.yaml":  strings.Replace(patches("warn", "spec.bucketRegion"), "  - step", "  - requirements: {}\n    step", 1),
				"integrity.yaml": strings.Replace(patches("warn", "spec.bucketRegion"), "  - step", "  - stepp: x\n    step", 1),
			},
			[]string{
				"s.yaml/loose failed", "  3: Composition at loose.yaml:18: spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: kind XBucket of example.crossplane.io/v1 has no field spec.bucketRegoin, did you mean spec.bucketRegion?",
				"s.yaml/again failed", "  3: Composition at loose.yaml:18: spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: kind XBucket of example.crossplane.io/v1 has no field spec.bucketRegoin, did you mean spec.bucketRegion?",
				"s.yaml/warn passed",
				"s.yaml/strict failed", "  3: storage-bucket: Bucket of s3.aws.upbound.io/v1beta1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore", "  3: Composition at strict.yaml:15: spec.pipeline[0].input.resources[0].base: no schema of kind Bucket of s3.aws.upbound.io/v1beta1 was found, so its fields are not checked",
				"s.yaml/integrity failed", "  9: integrity.yaml:8: spec.pipeline[0].stepp: unknown field of a Composition: the API server drops it, did you mean step? | correct or remove the unknown fields, or render without them with option lenient",
				"s.yaml/inline failed", "  10: s.yaml:10: sepc: unknown field of a Composition: the API server drops it, did you mean spec? | correct or remove the unknown fields, or render without them with option lenient",
				"s.yaml/ignored passed",
				"s.yaml/want none failed", "  12: want an invalid object, but all are valid",
				"s.yaml/v2.3 passed",
				"s.yaml/v1.20 failed", `  3: Composition at required.yaml:8: unknown field "spec.pipeline[0].requirements"`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(example(t, tc.files))
			e2e.NoError(t, afero.WriteFile(o.Config.Reader.FS, "s.yaml", []byte(head+tc.text), 0o644))
			o.Config.Runners = function.Mux{
				"function-literal": functiontest.Literal(),
				"function-panics": function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
					panic("oh")
				}),
			}
			e2e.Equal(t, tc.reason, tc.want, lines(run(t, o, suite.Selection{})))
		})
	}
}

// TestUpdate writes golden files once, and only if they differ.
func TestUpdate(t *testing.T) {
	fsys := example(t, map[string]string{"t/s.yaml": head + `defaults: {xr: ../xr.yaml, composition: ../composition.yaml, functions: ../functions.yaml}
cases:
- {name: a, expect: {golden: g/all.yaml}}
- {name: b, expect: {golden: {resources: {storage-bucket: g/bucket.yaml}}}}
- {name: c, xr: {patch: {spec: {bucketRegion: x}}}, expect: {golden: {resources: {storage-bucket: g/bucket.yaml}}}}
- {name: d, expect: {golden: ../all.yaml}}
`})
	o := options(fsys)
	var mu sync.Mutex
	written := map[string]int{}
	o.Parallel = 1
	o.Update = func(path string, text []byte) error {
		mu.Lock()
		defer mu.Unlock()
		written[path]++
		return afero.WriteFile(fsys, path, text, 0o644)
	}
	got := lines(run(t, o, suite.Selection{}))
	want := []string{
		"t/s.yaml/a passed", "t/s.yaml/b passed", "t/s.yaml/c failed", "  7: golden file t/g/bucket.yaml is also used by another case, which renders other content",
		"t/s.yaml/d failed", `  8: golden file "all.yaml" is outside of the suite's folder "t", and is not written | name a file in the folder of the suite`,
	}
	e2e.Equal(t, "golden files of other content or outside of the suite's folder are not written", want, got)
	e2e.Equal(t, "each golden file is written once", map[string]int{"t/g/all.yaml": 1, "t/g/bucket.yaml": 1}, written)
	// A golden file that is equal by structure keeps its formatting.
	text, err := afero.ReadFile(fsys, "t/g/all.yaml")
	if err != nil || !strings.HasPrefix(string(text), "---\napiVersion: example.crossplane.io/v1\n") {
		t.Fatalf("got %s, %v", text, err)
	}
	commented := append([]byte("# ours\n"), text...)
	e2e.NoError(t, afero.WriteFile(fsys, "t/g/all.yaml", commented, 0o644))
	run(t, o, suite.Selection{Run: regexp.MustCompile("/a$")})
	if text, _ = afero.ReadFile(fsys, "t/g/all.yaml"); string(text) != string(commented) {
		t.Errorf("an equal golden file was written again")
	}
	o.Update = nil
	all := run(t, o, suite.Selection{})
	if all[0].Status != suite.Passed || all[2].Status != suite.Failed || len(all[2].Failures[0].Diffs) != 1 {
		t.Errorf("got %v", lines(all))
	}
	change := all[2].Failures[0].Diffs[0].Changes[0]
	e2e.Equal(t, "the difference has the path of the field", "spec.forProvider.region", change.Path)
	e2e.Equal(t, "the difference has the step that set the field", "patch-and-transform", change.Step)
	want = []string{"t/s.yaml/d failed", `  8: golden file "all.yaml" is outside of the suite's folder "t", and is not written | name a file in the folder of the suite`}
	e2e.Equal(t, "a path outside of the suite's folder is an error without an update, too", want, lines(run(t, o, suite.Selection{Run: regexp.MustCompile("/d$")})))
}

// counting is a Runtime that counts the functions that it starts.
type counting struct {
	mu               sync.Mutex
	started, stopped map[string]int
}

func (c *counting) Start(_ context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started[fn.Package]++
	return &runtimes.Instance{
		Runner: function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			return &fnv1.RunFunctionResponse{Desired: req.GetDesired()}, nil
		}),
		Stop: func(context.Context) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.stopped[fn.Package]++
			return nil
		},
	}, nil
}

// TestFunctionsStartOnce checks that equal functions of several suites start
// once, unless they are files relative to different suites.
func TestFunctionsStartOnce(t *testing.T) {
	functions := func(pkg string) string {
		return "{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: function-patch-and-transform}, spec: {package: " + pkg + "}}"
	}
	text := func(fns string) string {
		return head + "defaults: {xr: ../xr.yaml, composition: ../composition.yaml, functions: " + fns + "}\ncases:\n- {name: a, each: [1, 2, 3, 4, 5]}\n"
	}
	fsys := example(t, map[string]string{
		"a/s.yaml": text("f.yaml"), "a/f.yaml": functions("example.org/f:v1"),
		"b/s.yaml": text("f.yaml"), "b/f.yaml": functions("example.org/f:v1"),
		"c/s.yaml": text(functions("example.org/f:v2")),
		"d/s.yaml": text("f.yaml"), "d/f.yaml": functions("./f.xpkg"), "d/f.xpkg": "",
		"e/s.yaml": text("f.yaml"), "e/f.yaml": functions("./f.xpkg"), "e/f.xpkg": "",
	})
	c := &counting{started: map[string]int{}, stopped: map[string]int{}}
	o := options(fsys)
	o.Config.Runtimes = map[session.Runtime]runtimes.Runtime{session.Docker: c}
	o.Config.Runtime = session.Docker
	for _, out := range run(t, o, suite.Selection{Count: 2}) {
		e2e.Equal(t, fmt.Sprintf("%s: %v", out.Name(), lines([]suite.Outcome{out})), suite.Passed, out.Status)
	}
	want := map[string]int{"example.org/f:v1": 1, "example.org/f:v2": 1, filepath.Join("d", "f.xpkg"): 1, filepath.Join("e", "f.xpkg"): 1}
	e2e.Equal(t, "equal functions start once, and files of different suites are different", want, c.started)
	e2e.Equal(t, "each function that started is stopped", want, c.stopped)
}

// A slowRuntime advances a clock by an hour when it starts a function. Before, it waits until
// the clock was read a number of times.
type slowRuntime struct {
	mu    sync.Mutex
	now   time.Time
	reads int
	ready chan struct{}
}

func (r *slowRuntime) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads--; r.reads == 0 {
		close(r.ready)
	}
	return r.now
}

func (r *slowRuntime) Start(ctx context.Context, _ runtimes.Function) (*runtimes.Instance, error) {
	select {
	case <-r.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(time.Hour)
	return &runtimes.Instance{
		Runner: function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			return &fnv1.RunFunctionResponse{Desired: req.GetDesired()}, nil
		}),
		Stop: func(context.Context) error { return nil },
	}, nil
}

// TestTookIsOwn checks that the duration of a case excludes the start of a function, for
// which all cases wait.
func TestTookIsOwn(t *testing.T) {
	o := options(example(t, map[string]string{"s.yaml": head + "defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}\ncases:\n- {name: a, each: [1, 2, 3, 4]}\n"}))
	// Each of the cases reads the clock when it begins, and when it waits for the function.
	clock := &slowRuntime{reads: 8, ready: make(chan struct{})}
	o.Now, o.Parallel = clock.Now, 4
	o.Config.Runtimes, o.Config.Runtime = map[session.Runtime]runtimes.Runtime{session.Docker: clock}, session.Docker
	for _, out := range run(t, o, suite.Selection{}) {
		if out.Status != suite.Passed || out.Took.Duration != 0 {
			t.Errorf("%v took %s, want 0s", lines([]suite.Outcome{out}), out.Took)
		}
	}
}

// TestTimeout checks that only the case that exceeds its timeout fails.
func TestTimeout(t *testing.T) {
	fsys := example(t, map[string]string{"s.yaml": head + `defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}
cases:
- {name: slow, timeout: 1ms}
- {name: other, mocks: {patch-and-transform: {response: {}}}}
`})
	o := options(fsys)
	o.Config.Runners = function.Mux{"function-patch-and-transform": function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})}
	all := run(t, o, suite.Selection{})
	if all[0].Status != suite.Failed || !strings.Contains(all[0].Failures[0].Text, "the case timed out after 1ms") || all[1].Status != suite.Passed {
		t.Errorf("got %v", lines(all))
	}
}

// TestInterrupted checks the outcomes of a run whose context ends while a case runs.
func TestInterrupted(t *testing.T) {
	stop := errors.New("timed out")
	for _, tc := range []struct {
		reason string
		cause  error
		want   []string
	}{
		{"a case that was interrupted is not failed", context.Canceled, []string{"s.yaml/a skipped: not run: interrupted", "s.yaml/b skipped: not run: interrupted", "s.yaml/c skipped: not run: interrupted"}},
		{"a case that runs when the time ends fails", stop, []string{"s.yaml/a failed: ", "s.yaml/b skipped: not run: timed out", "s.yaml/c skipped: not run: timed out"}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		o := options(example(t, map[string]string{"s.yaml": head + "defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}\ncases: [{name: a}, {name: b}, {name: c}]\n"}))
		o.Parallel = 1
		o.Config.Runners = function.Mux{"function-patch-and-transform": function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			cancel(tc.cause)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})}
		items := planned(t, loaded(t, o, "s.yaml"), suite.Selection{})
		var got []string
		var text strings.Builder
		report := suite.TextReport{W: &text}
		err := suite.Run(ctx, items, o, func(out suite.Outcome) error {
			got = append(got, fmt.Sprintf("%s %s: %s", out.Name(), out.Status, out.Reason))
			return report.Add(out)
		})
		e2e.ErrorIs(t, tc.reason, err, tc.cause)
		e2e.Equal(t, tc.reason, tc.want, got)
		if err := report.End(0); err != nil || !strings.Contains(text.String(), " not run, ") || !strings.Contains(text.String(), "\nFAIL (3 cases, ") && !strings.HasPrefix(text.String(), "FAIL s.yaml (3 cases, 3 not run") {
			t.Errorf("%s: the report is %v\n%s", tc.reason, err, text.String())
		}
	}
}

// TestFailFast ends a run after the first failure.
func TestFailFast(t *testing.T) {
	var text strings.Builder
	text.WriteString(head + "defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}\ncases:\n- {name: good}\n")
	for i := range 500 {
		fmt.Fprintf(&text, "- {name: bad %d, expect: {count: {total: 9}}}\n", i)
	}
	o := options(example(t, map[string]string{"s.yaml": text.String()}))
	o.FailFast = true
	var out strings.Builder
	printed, doc, junit := suite.TextReport{W: &out}, suite.JSONReport{}, suite.JUnitReport{}
	for _, o := range run(t, o, suite.Selection{}) {
		e2e.NoError(t, errors.Join(printed.Add(o), junit.Add(o)))
		doc.Add(o)
	}
	e2e.NoError(t, printed.End(0))
	e2e.Has(t, "the text counts the cases that did not run", out.String(), "\nFAIL (501 cases, 1 failed, 499 not run, ")
	e2e.Equal(t, "the JSON counts the cases that did not run", []int{1, 1, 499, 501}, []int{doc.Passed, doc.Failed, doc.Skipped, len(doc.Cases)})
	e2e.Equal(t, "the JSON says why the last case did not run", "not run: an earlier case failed", doc.Cases[500].Reason)
	e2e.Equal(t, "the JUnit report says why the last case did not run", "not run: an earlier case failed", junit.Suites()[0].Cases[500].Skipped)
}

// An openedFS counts how often each file is opened.
type openedFS struct {
	afero.Fs
	mu    sync.Mutex
	times map[string]int
}

func (f *openedFS) Open(name string) (afero.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times[name]++
	return f.Fs.Open(name)
}

// TestConcurrent runs the same cases, which patch each other, concurrently.
func TestConcurrent(t *testing.T) {
	o := options(example(t, map[string]string{"s.yaml": head + `defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}
cases:
- {name: a, each: [{k: spec, r: x}, {k: spec, r: z}], xr: {patch: {"${each.k}": {bucketRegion: "${each.r}"}}}, expect: {resources: {storage-bucket: {"${each.k}.forProvider.region": "${each.r}"}}}}
- {name: b, xr: {from: a/1}, expect: {resources: {storage-bucket: {spec.forProvider.region: x}}}}
- {name: c, xr: {from: a/2, patch: {spec: {more: 1}}}, expect: {resources: {storage-bucket: {spec.forProvider.region: z}}}}
`}))
	o.Parallel = 16
	opened := &openedFS{Fs: o.Config.Reader.FS, times: map[string]int{}}
	o.Config.Reader.FS = opened
	all := run(t, o, suite.Selection{Count: 20})
	for _, name := range []string{"xr.yaml", "composition.yaml", "functions.yaml"} {
		e2e.Equal(t, name+" is opened once to look for suites and once for all cases", 2, opened.times[name])
	}
	for _, out := range all {
		e2e.Equal(t, fmt.Sprintf("each case passes: %v", lines([]suite.Outcome{out})), suite.Passed, out.Status)
	}
	e2e.Equal(t, "each case ran as often as requested", 80, len(all))
}

// TestTrace checks that each failed case has a trace if Options.Trace is set.
func TestTrace(t *testing.T) {
	o := options(example(t, map[string]string{"s.yaml": head + `defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}
cases:
- {name: good}
- {name: bad, expect: {count: {total: 9}}}
- {name: fatal, mocks: {patch-and-transform: {response: {results: [{severity: SEVERITY_FATAL, message: nope}]}}}}
`}))
	for _, wanted := range []bool{false, true} {
		o.Trace = wanted
		all := run(t, o, suite.Selection{})
		if all[0].Trace != nil || (all[1].Trace != nil) != wanted || (all[2].Trace != nil) != wanted {
			t.Fatalf("wanted %t: got %v, %v, %v", wanted, all[0].Trace, all[1].Trace, all[2].Trace)
		}
		if !wanted {
			continue
		}
		if s := all[1].Trace.Steps; len(s) != 1 || s[0].Runtime != "Builtin" || len(s[0].Changes) != 2 {
			t.Errorf("got steps %+v", s)
		}
		if tr := all[2].Trace; !tr.Failed() || !strings.Contains(tr.Error, "returned a fatal result: nope") {
			t.Errorf("got %+v", tr)
		}
	}
}

// TestRecording checks that Options.Recording replays recordings.
func TestRecording(t *testing.T) {
	o := options(example(t, map[string]string{"t/s.yaml": head + "cases: [{name: a, xr: ../xr.yaml, composition: ../composition.yaml, mocks: {patch-and-transform: {recording: calls}}}]"}))
	var asked string
	o.Recording = func(path string) (function.Runner, error) {
		asked = path
		return nil, errors.New("it is gone")
	}
	got := lines(run(t, o, suite.Selection{}))
	if len(got) != 2 || got[1] != "  3: mocks.patch-and-transform: it is gone" || asked != filepath.Join("t", "calls") {
		t.Errorf("got %q, asked for %s", got, asked)
	}
}

// TestNotes checks that a note that applies to all cases is reported once.
func TestNotes(t *testing.T) {
	o := options(example(t, map[string]string{"s.yaml": generated(50)}))
	var mu sync.Mutex
	told := map[string]int{}
	o.Config.Progress = func(e progress.Event) {
		mu.Lock()
		defer mu.Unlock()
		told[e.Text]++
	}
	run(t, o, suite.Selection{})
	if len(told) != 1 || told["function-patch-and-transform: Builtin, measured against function-patch-and-transform v0.10.8"] != 1 {
		t.Errorf("got %v", told)
	}
}
