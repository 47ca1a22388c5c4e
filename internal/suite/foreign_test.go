package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/suite"
)

// TestXprinGolden runs a suite for which xprin's verdicts are known, without its hooks, which
// are not run. Each assertion must have the verdict that xprin gave it.
func TestXprinGolden(t *testing.T) {
	t.Parallel()
	const dir = "../../testdata/golden/xprin/assertions"
	var want []struct {
		Name, Status string
		Assertions   []struct{ Mark, Text string }
	}
	raw := e2e.Must(os.ReadFile(filepath.Join(dir, "verdicts.json")))(t)
	e2e.NoError(t, json.Unmarshal(raw, &want))
	fsys := afero.NewCopyOnWriteFs(afero.NewBasePathFs(afero.NewOsFs(), filepath.Join(dir, "in")), afero.NewMemMapFs())
	text := e2e.Must(afero.ReadFile(fsys, "a_xprin.yaml"))(t)
	text = regexp.MustCompile(`(?s)  hooks:.*?  assertions:`).ReplaceAll(text, []byte("  assertions:"))
	e2e.NoError(t, afero.WriteFile(fsys, "a_xprin.yaml", text, 0o644))
	o := options(fsys)
	o.Config.Runners = function.Mux{"echo": function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp := &fnv1.RunFunctionResponse{}
		text, err := protojson.Marshal(req.GetInput().GetFields()["response"])
		if err != nil {
			return nil, err
		}
		return rsp, protojson.Unmarshal(text, rsp)
	})}
	all := run(t, o, suite.Selection{})
	if len(all) != len(want) {
		t.Fatalf("got %d cases, want %d: %v", len(all), len(want), lines(all))
	}
	for i, w := range want {
		if passed := all[i].Status == suite.Passed; all[i].Case != w.Name || passed != (w.Status == "PASS") {
			t.Errorf("got %s %s, want %s", all[i].Case, all[i].Status, w.Status)
		}
		failures := strings.Join(lines(all[i:i+1]), "\n")
		failed := 0
		for _, a := range w.Assertions {
			name, rest, _ := strings.Cut(a.Text, " - ")
			is := strings.Contains(failures, ": "+name+": ")
			if _, resource, ok := strings.Cut(rest, " on resource "); ok && is {
				is = strings.Contains(failures, ": "+name+": "+resource+": ")
			}
			if is != (a.Mark != "✓") {
				t.Errorf("%s: %s: got a failure: %t, but xprin says %s", w.Name, a.Text, is, a.Mark)
			}
			if a.Mark != "✓" {
				failed++
			}
		}
		e2e.Equal(t, fmt.Sprintf("the number of failures of %s, which are %v", w.Name, all[i].Failures), failed, len(all[i].Failures))
	}
}

// files are the files of a project with tests of other tools.
func foreignProject(test string, more map[string]string) map[string]string {
	files := map[string]string{
		"upbound.yaml":            "apiVersion: meta.dev.upbound.io/v1alpha1\nkind: Project\n",
		"apis/buckets/comp.yaml":  foreignComposition,
		"examples/xr.yaml":        "apiVersion: example.org/v1\nkind: XBucket\nmetadata: {name: shop, uid: u-1}\nspec: {region: eu}\n",
		"tests/test-a/main.yaml":  test,
		"tests/test-a/notes.yaml": "a: 1\n",
	}
	maps.Copy(files, more)
	return files
}

const foreignComposition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: buckets}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XBucket}
  mode: Pipeline
  pipeline:
  - step: one
    functionRef: {name: function-literal}
    input:
      response:
        results: [{severity: SEVERITY_NORMAL, message: done}]
        context: {k: v}
        desired:
          composite: {resource: {status: {url: x}}}
          resources:
            bucket: {resource: {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: b}, spec: {list: [{a: 1, b: 2}, {c: 3}], num: 3, empty: {}, "null": null, nulls: [1, null]}}}
            other: {resource: {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: c, annotations: {x: v}}, spec: {num: 4}}}
`

const compositionTest = "apiVersion: meta.dev.upbound.io/v1alpha1\nkind: CompositionTest\nmetadata: {name: a}\nspec:\n"

// TestCompositionTests runs tests in the format of Upbound's CLI, with the layout of
// its public documentation. The expected verdicts follow the rules of the CLI.
func TestCompositionTests(t *testing.T) {
	t.Parallel()
	const paths = "  compositionPath: apis/buckets/comp.yaml\n  xrPath: examples/xr.yaml\n"
	cases := map[string]struct {
		reason, text string
		more         map[string]string
		want         []string
	}{
		"Pass": {reason: "paths begin in the root of the project, objects are partial, lists are whole", text: compositionTest + paths + `  timeoutSeconds: 60
  validate: true
  assertResources:
  - apiVersion: example.org/v1
    kind: XBucket
    metadata: {name: shop}
    spec: {region: eu, crossplane: {resourceRefs: [{name: b}, {name: c}]}}
    status: {url: x}
  - apiVersion: s3.example.org/v1
    kind: Bucket
    metadata: {name: b, annotations: {crossplane.io/composition-resource-name: bucket}}
    spec: {list: [{a: 1}, {}], num: 3.0, empty: {}}
  - {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {annotations: {x: v}}, spec: {num: 4}}
  - {apiVersion: render.crossplane.io/v1beta1, kind: Context, fields: {k: v}}
  - {apiVersion: render.crossplane.io/v1beta1, kind: Result, message: 'Successfully selected composition: buckets'}
`, want: []string{"tests/test-a/main.yaml/a passed"}},
		"Fail": {reason: "each mismatch is reported with its line", text: compositionTest + paths + `  assertResources:
  - {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: b}, spec: {list: [{a: 1}], num: "3", "null": null, none: 1, empty: {x: 1}}}
  - apiVersion: s3.example.org/v1
    kind: Bucket
    spec:
      num: 4
  - {apiVersion: v1, kind: Bucket, metadata: {name: b}}
`, want: []string{
			"tests/test-a/main.yaml/a failed",
			`  8: Bucket/b: spec.empty.x: there is no such field: it is empty (set by step one)`,
			`  8: Bucket/b: spec.list: want a list of 1 elements, got 2: [{"a":1,"b":2},{"c":3}] (set by step one)`,
			`  8: Bucket/b: spec.none: there is no such field: it has empty, list, null, nulls, num`,
			`  8: Bucket/b: spec.null: the field is null, which counts as absent (set by step one)`,
			`  8: Bucket/b: spec.num: want "3", got 3 (set by step one)`,
			`  12: Bucket/b: spec.num: want 4, got 3 (set by step one)`,
			`  13: there is no Bucket "b" of apiVersion v1, only Bucket/b (s3.example.org/v1), Bucket/c (s3.example.org/v1)`,
		}},
		"Inline": {reason: "objects in the test need no files, and two tests can be in one file", text: compositionTest + "  xr: {apiVersion: example.org/v1, kind: XBucket, metadata: {name: shop}}\n  compositionPath: /apis/buckets/comp.yaml\n  context: {a: {b: 1}}\n  extraResources: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]\n  observedResources: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]\n---\n" + compositionTest + paths + "  xrd: {apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: xbuckets.example.org}, spec: {group: example.org, names: {kind: XBucket, plural: xbuckets}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {region: {type: integer}, size: {type: string, default: small}}}}}}}]}}\n  assertResources: [{apiVersion: example.org/v1, kind: XBucket, spec: {size: small, resourceRefs: [{}, {}]}}]\n", want: []string{"tests/test-a/main.yaml/a passed", "tests/test-a/main.yaml/a (2) passed"}},
		"UIDs": {reason: "the UID of an owner is empty in the output of the CLI, and not in Crossplane", text: compositionTest + "  compositionPath: apis/buckets/comp.yaml\n  xr: {apiVersion: example.org/v1, kind: XBucket, metadata: {name: shop}}\n" + `  assertResources:
  - {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: b, ownerReferences: [{apiVersion: example.org/v1, blockOwnerDeletion: true, controller: true, kind: XBucket, name: shop, uid: ""}]}}
  - {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: c, ownerReferences: [{uid: other}]}}
`, want: []string{"tests/test-a/main.yaml/a failed", `  9: Bucket/c: metadata.ownerReferences[0].uid: want "other", got "9e8c6e3e-7f63-5d4c-a29f-6ad7190ebb5e"`}},
		"Nulls": {reason: "a null is a missing value", text: compositionTest + paths + "  xr: ~\n  composition: null\n  xrdPath:\n  timeoutSeconds:\n  observedResources: ~\n  context:\n  functionCredentialsPath: ~\n  validate:\n  assertResources:\n", want: []string{"tests/test-a/main.yaml/a passed"}},
		"Empty": {reason: "an object without fields expects any value but null", text: compositionTest + paths + `  assertResources:
  - {apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: {}}, spec: {list: {}, num: {}, empty: {}}}
  - {apiVersion: s3.example.org/v1, kind: Bucket, spec: {nulls: [{}, {}]}}
`, want: []string{"tests/test-a/main.yaml/a failed", "  9: Bucket/b: spec.nulls[1]: want any value but null (set by step one)"}},
		"Hostile": {reason: "a path cannot leave the project", text: compositionTest + "  compositionPath: ../../../apis/buckets/comp.yaml\n  xrPath: ../../examples/none.yaml\n", want: []string{"tests/test-a/main.yaml/a failed", `  6: xr: reading "examples/none.yaml": file does not exist`}},
		"Wrong": {reason: "errors name the field and its line", text: compositionTest + `  xrPath: examples/xr.yaml
  xr: {apiVersion: v1, kind: X}
  compositonPath: x.yaml
  timeoutSeconds: 0
  assertResources:
  - {apiVersion: v1, kind: X, spec: {"(length(list))": 2}}
  - {apiVersion: v1, kind: X, spec: {"~.(list)": 2, "a->b": 1, b: (x == y), '\(c)\': 1}}
  - 3
`, want: []string{
			"tests/test-a/main.yaml/a failed",
			"  4: spec: expected composition or compositionPath",
			"  4: spec: expected either xr or xrPath",
			"  7: spec.compositonPath: there is no such field: is it compositionPath?",
			"  8: spec.timeoutSeconds: expected at least 1, got 0",
			`  10: spec.assertResources[0].spec: the expression "(length(list))" is not supported | write the expected value; or a suite of kind TestSuite with expect.cel`,
			`  11: spec.assertResources[1].spec: the expression "a->b" is not supported | write the expected value; or a suite of kind TestSuite with expect.cel`,
			`  11: spec.assertResources[1].spec.b: the expression "(x == y)" is not supported | write the expected value; or a suite of kind TestSuite with expect.cel`,
			`  11: spec.assertResources[1].spec: the expression "~.(list)" is not supported | write the expected value; or a suite of kind TestSuite with expect.cel`,
			"  12: spec.assertResources[2]: expected an object, got a number",
		}},
		"Version": {reason: "another version of the API is an error", text: strings.Replace(compositionTest, "v1alpha1", "v2", 1) + paths, want: []string{"tests/test-a/main.yaml/a failed", `  1: apiVersion: expected meta.dev.upbound.io/v1alpha1, got "meta.dev.upbound.io/v2"`}},
		"Program": {reason: "a program is skipped", text: "a: 1\n", more: map[string]string{"tests/test-b/main.k": "import models.io.upbound.dev.meta.v1alpha1 as metav1alpha1\n_items = [metav1alpha1.CompositionTest{}]\n", "tests/test-c/main.py": "print(1)\n", "tests/test-d/a.gotmpl": "items:\n- kind: CompositionTest\n", "tests/test-e/main.go": "package main\n\nvar kind = \"OperationTest\"\n", "functions/f/main.go": "package main\n"}, want: []string{"tests/test-b/main.k/main.k skipped", "tests/test-d/a.gotmpl/a.gotmpl skipped", "tests/test-e/main.go/main.go skipped"}},
		"E2E":     {reason: "a test that needs a cluster is skipped", text: strings.Replace(compositionTest, "CompositionTest", "E2ETest", 1) + "  any: {}\n", want: []string{"tests/test-a/main.yaml/a skipped"}},
		"Operation": {
			reason: "an OperationTest renders an Operation", text: strings.Replace(compositionTest, "CompositionTest", "OperationTest", 1) + "  operationPath: operations/o.yaml\n  watchedResource: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: n}}\n  assertResources:\n  - {apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, status: {pipeline: [{output: {ok: true}}]}}\n",
			more: map[string]string{"operations/o.yaml": "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: o}\nspec: {mode: Pipeline, pipeline: [{step: one, functionRef: {name: function-literal}, input: {sequence: [{}, {output: {ok: true}}]}}]}\n"},
			want: []string{"tests/test-a/main.yaml/a passed"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(example(t, foreignProject(tc.text, tc.more)))
			o.Config.Runners = function.Mux{"function-literal": functiontest.Literal()}
			e2e.Equal(t, tc.reason, strings.Join(tc.want, "\n"), strings.Join(lines(run(t, o, suite.Selection{})), "\n"))
		})
	}
}

// TestXprin runs suites of xprin, with supported and unsupported fields.
func TestXprin(t *testing.T) {
	t.Parallel()
	const common = "common:\n  inputs: {xr: ../examples/xr.yaml, composition: ../apis/buckets/comp.yaml, functions: fns.yaml}\n"
	cases := map[string]struct {
		reason, text string
		more         map[string]string
		want         []string
	}{
		"Golden": {
			reason: "golden files are compared as text or by structure", text: common + `tests:
- name: a
  assertions:
    dyff: [{name: d, resource: Bucket/c, expected: c.yaml}, {name: order, resource: Bucket/c, expected: other.yaml}]
    diff: [{name: same, resource: Bucket/c, expected: c.yaml}, {name: none, expected: none.yaml}, {name: what, resource: Pod/x, expected: c.yaml}]
`,
			more: map[string]string{
				"t/c.yaml":     "apiVersion: s3.example.org/v1\nkind: Bucket\nmetadata:\n  annotations:\n    crossplane.io/composition-resource-name: other\n    x: v\n  labels:\n    crossplane.io/composite: shop\n  name: c\n  ownerReferences:\n  - apiVersion: example.org/v1\n    blockOwnerDeletion: true\n    controller: true\n    kind: XBucket\n    name: shop\n    uid: u-1\nspec:\n  num: 4\n",
				"t/other.yaml": "apiVersion: s3.example.org/v1\nkind: Bucket\nmetadata: {name: c}\n",
			},
			want: []string{
				"t/a_xprin.yaml/a failed", "  6: the output differs from other.yaml | if the new output is correct, write it with option update",
				"  7: there is no golden file none.yaml yet | write it with option update",
				"  7: what: there is no resource Pod/x, only Bucket/b, Bucket/c, XBucket/shop",
			},
		},
		"Claim": {reason: "a claim becomes a composite resource, with a connection secret", text: `tests:
- name: a
  id: first
  inputs: {claim: claim.yaml, composition: ../apis/buckets/comp.yaml, functions: fns.yaml, context-values: {a: '{"b": 1}'}}
  patches: {connection-secret: true, connection-secret-name: s}
  assertions:
    xprin:
    - {name: c, type: Count, value: 3}
    - {name: r, type: FieldValue, resource: XBucket, field: spec.claimRef.name, operator: ==, value: shop}
    - {name: s, type: FieldValue, resource: XBucket, field: spec.writeConnectionSecretToRef.name, operator: is, value: s}
    - {name: u, type: FieldExists, resource: XBucket, field: metadata.uid}
`, more: map[string]string{"t/claim.yaml": "apiVersion: example.org/v1\nkind: Bucket\nmetadata: {name: shop, namespace: team}\nspec: {region: eu}\n"}, want: []string{"t/a_xprin.yaml/a passed"}},
		"CRDs": {reason: "with CRDs, a resource without a schema is a failure", text: "tests:\n- name: a\n  inputs: {xr: ../examples/xr.yaml, composition: ../apis/buckets/comp.yaml, functions: fns.yaml, crds: [fns.yaml]}\n", want: []string{"t/a_xprin.yaml/a failed", "  3: composite resource: XBucket of example.org/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore", "  3: bucket: Bucket of s3.example.org/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore", "  3: other: Bucket of s3.example.org/v1 has no schema: add its definition to schemas, or the kind to expect.valid.ignore"}},
		"Wrong": {reason: "errors name the field and its line, in the test or in the common part", text: `unknown: 1
common:
  inputs: {composition: ../apis/buckets/comp.yaml, functions: "{{ .Repositories.x }}/f", extra: 1}
  hooks: {pre-test: [{run: "true"}]}
tests:
- name: a
  id: "x y"
  inputs: {observed-resources: "{{ .Tests.b.Outputs.Render }}", crds: 3}
  assertions:
    other: []
    xprin: [{name: a, type: Count, valu: 3}]
- name: b
  inputs: {xr: none.yaml, claim: b.yaml}
  hooks: {pre-test: [], post-test: [{run: "true"}]}
- id: c
`, want: []string{
			"t/a_xprin.yaml/a failed",
			`  3: common.inputs.functions: templates are not supported | write the value`,
			`  4: common.hooks.pre-test: hooks are shell commands, which are not run | prepare the inputs before the test, and remove the hook`,
			`  6: tests[0]: expected either inputs.xr or inputs.claim`,
			`  7: tests[0].id: expected letters, digits, _ and -, got "x y"`,
			`  8: tests[0].inputs.observed-resources: templates are not supported | write the value`,
			`  8: tests[0].inputs.crds: expected a list, got a number`,
			`  10: tests[0].assertions.other: unknown engine of assertions: expected xprin, diff or dyff`,
			`  11: tests[0].assertions.xprin[0].valu: there is no such field: is it value?`,
			"t/a_xprin.yaml/b failed",
			`  3: common.inputs.functions: templates are not supported | write the value`,
			`  4: common.hooks.pre-test: hooks are shell commands, which are not run | prepare the inputs before the test, and remove the hook`,
			`  12: tests[1]: expected either inputs.xr or inputs.claim`,
			`  14: tests[1].hooks.post-test: hooks are shell commands, which are not run | prepare the inputs before the test, and remove the hook`,
			"t/a_xprin.yaml/tests[2] failed",
			`  3: common.inputs.functions: templates are not supported | write the value`,
			`  4: common.hooks.pre-test: hooks are shell commands, which are not run | prepare the inputs before the test, and remove the hook`,
			`  15: tests[2]: the test has no name`,
			`  15: tests[2]: expected either inputs.xr or inputs.claim`,
		}},
		"Nulls":  {reason: "a null is a missing value, and a number can be a name", text: common + "tests:\n- {name: 7, id: ~, hooks: ~, patches: {xrd: ~}, inputs: {claim: , crds: ~, observed-resources: ~}, assertions: {xprin: [{name: ~, type: Count, value: 3, field: ~}], diff: ~}}\n", want: []string{"t/a_xprin.yaml/7 passed"}},
		"Empty":  {reason: "a suite without tests is an error", text: "common: {}\n", want: []string{"t/a_xprin.yaml failed", "  1: tests: the suite has no tests"}},
		"Syntax": {reason: "a file that is not YAML is an error", text: "tests: [", want: []string{"t/a_xprin.yaml failed", "  1: did not find expected node content: the document ends before a { or [ is closed | check whether the end of the file is missing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := foreignProject("a: 1\n", tc.more)
			files["t/a_xprin.yaml"] = tc.text
			files["t/fns.yaml"] = "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-literal}\nspec: {package: example.org/f:v1}\n"
			o := options(example(t, files))
			o.Config.Runners = function.Mux{"function-literal": functiontest.Literal()}
			e2e.Equal(t, tc.reason, strings.Join(tc.want, "\n"), strings.Join(lines(run(t, o, suite.Selection{})), "\n"))
		})
	}
}

// TestConvert checks that a converted suite has the verdicts of the tests that it replaces, and
// that it can have texts that look like variables.
func TestConvert(t *testing.T) {
	t.Parallel()
	text := compositionTest + "  compositionPath: apis/buckets/comp.yaml\n  xrPath: examples/xr.yaml\n  context: {a: '${each.b} $${each}'}\n  assertResources: [{apiVersion: s3.example.org/v1, kind: Bucket, metadata: {name: b}, spec: {num: 4}}]\n"
	fsys := example(t, foreignProject(text, nil))
	o := options(fsys)
	o.Config.Runners = function.Mux{"function-literal": functiontest.Literal()}
	before := run(t, o, suite.Selection{})
	suites := loaded(t, o, "tests")
	if len(suites) != 1 || !suites[0].IsForeign() {
		t.Fatalf("got %v", suites)
	}
	path, converted, err := suite.Convert(suites[0])
	e2e.NoError(t, err)
	e2e.Equal(t, "the converted suite is beside the test", filepath.FromSlash("tests/test-a/main.xfn.yaml"), path)
	e2e.NoError(t, afero.WriteFile(fsys, path, converted, 0o644))
	e2e.NoError(t, fsys.Remove("tests/test-a/main.yaml"))
	after := run(t, o, suite.Selection{})
	verdicts := func(all []suite.Outcome) (out []string) {
		for _, one := range all {
			for _, f := range one.Failures {
				out = append(out, fmt.Sprintf("%s: %s", one.Case, f.Text))
			}
		}
		return out
	}
	want := []string{"a: Bucket/b: spec.num: want 4, got 3 (set by step one)"}
	e2e.Equal(t, "the conversion does not change the failures", [][]string{want, want}, [][]string{verdicts(before), verdicts(after)})
}
