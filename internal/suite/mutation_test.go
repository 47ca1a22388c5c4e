package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite"
)

// templateStep is a step of a pipeline with a template, up to the template.
const templateStep = `  - step: template
    functionRef: {name: function-go-templating}
    input:
      apiVersion: gotemplating.fn.crossplane.io/v1beta1
      kind: GoTemplate
      source: Inline
      inline:
        template: |
`

// mutated is a Composition with patches, a transform and a step with a template, and a suite
// that checks a part of it.
var mutated = map[string]string{
	"mutated.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: mutated}
spec:
  compositeTypeRef: {apiVersion: example.crossplane.io/v1, kind: XBucket}
  mode: Pipeline
  pipeline:
  - step: patch
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: bucket
        base: {apiVersion: example.org/v1, kind: Bucket, spec: {tier: standard, private: true}}
        patches:
        - fromFieldPath: spec.bucketRegion
          toFieldPath: spec.region
          transforms:
          - {type: map, map: {us-east-2: us, eu-west-1: eu}}
        - {fromFieldPath: metadata.name, toFieldPath: spec.title}
` + templateStep + `          {{ if eq .observed.composite.resource.spec.bucketRegion "us-east-2" }}
          apiVersion: example.org/v1
          kind: Alarm
          metadata:
            annotations: {gotemplating.fn.crossplane.io/composition-resource-name: alarm}
          spec:
            level: 3
          {{ end }}
`,
	"mutated.test.yaml": head + `metadata: {name: mutated}
defaults: {composition: mutated.yaml, functions: functions.yaml, xr: xr.yaml}
cases:
- name: region
  expect: {resources: {bucket: {spec.region: us, spec.private: true}}}
- name: alarm
  expect: {resources: {alarm: {spec.level: {exists: true}}}}
- name: skipped
  skip: not yet
- name: wrong
  xr: {apiVersion: example.crossplane.io/v1, kind: XBucket, metadata: {name: x}, spec: {bucketRegion: mars}}
  expect: {fatal: key mars is not found}
`,
	"functions.yaml": `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-patch-and-transform}
spec: {package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.10.0}
---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-go-templating}
spec: {package: xpkg.crossplane.io/crossplane-contrib/function-go-templating:v0.12.0}
`,
}

func mutations(t *testing.T, ctx context.Context, o suite.Options, m suite.MutationOptions) ([]suite.Mutation, error) {
	t.Helper()
	items := planned(t, loaded(t, o, "mutated.test.yaml"), suite.Selection{})
	var all []suite.Mutation
	err := suite.Mutate(ctx, items, o, m, func(one suite.Mutation) error {
		all = append(all, one)
		return nil
	})
	return all, err
}

// TestMutate compares the outcome of each mutant with a run of the suite for a file with the
// mutant.
func TestMutate(t *testing.T) {
	fsys := example(t, mutated)
	all := e2e.Must(mutations(t, t.Context(), options(fsys), suite.MutationOptions{}))(t)
	docs := e2e.Must(manifest.Split("mutated.yaml", []byte(mutated["mutated.yaml"])))(t)
	byHand, err := suite.Mutants(docs[0])
	if err != nil || len(byHand) != len(all) || len(all) < 15 {
		t.Fatalf("got %d mutants, want %d, at least 15: %v", len(all), len(byHand), err)
	}
	counts := map[suite.MutantStatus]int{}
	for i, m := range byHand {
		text := e2e.Must(json.Marshal(m.Composition()))(t)
		files := map[string]string{"mutated.test.yaml": mutated["mutated.test.yaml"], "functions.yaml": mutated["functions.yaml"], "mutated.yaml": string(text)}
		status := suite.Killed
		if failed := failures(run(t, options(example(t, files)), suite.Selection{})); failed == 0 {
			status = suite.Survived
		}
		got := all[i]
		counts[got.Status]++
		if passes := got.Status != suite.Killed; got.Line != m.Line || passes != (status == suite.Survived) {
			t.Errorf("%d: %s of %s: got %s, want %s by hand", m.Line, m.Operator, m.Field, got.Status, status)
		}
		if (got.Status == suite.Survived) != (len(got.Diffs) > 0) {
			t.Errorf("%d: %s: %s has %d differences", m.Line, m.Operator, got.Status, len(got.Diffs))
		}
	}
	for _, s := range []suite.MutantStatus{suite.Killed, suite.Survived, suite.Unchanged} {
		if counts[s] == 0 {
			t.Errorf("no mutant is %s: %v", s, counts)
		}
	}
}

func failures(all []suite.Outcome) int {
	n := 0
	for _, o := range all {
		if o.Suite == "mutated" && o.Status == suite.Failed {
			n++
		}
	}
	return n
}

// TestMutateSome checks that the seed alone chooses the mutants.
func TestMutateSome(t *testing.T) {
	t.Parallel()
	names := func(o suite.MutationOptions, parallel int) []string {
		opts := options(example(t, mutated))
		opts.Parallel = parallel
		all := e2e.Must(mutations(t, t.Context(), opts, o))(t)
		var names []string
		for _, m := range all {
			names = append(names, fmt.Sprint(m.Line, m.Operator, m.Field, m.Status, m.Case))
		}
		return names
	}
	one := names(suite.MutationOptions{Most: 5, Seed: 1}, 1)
	if again := names(suite.MutationOptions{Most: 5, Seed: 1}, 4); len(one) != 5 || !cmp.Equal(one, again) {
		t.Errorf("the same seed: got %v, then %v", one, again)
	}
	if other := names(suite.MutationOptions{Most: 5, Seed: 2}, 1); cmp.Equal(one, other) {
		t.Errorf("another seed chooses the same mutants: %v", one)
	}
	if few := names(suite.MutationOptions{Most: 1000, Seed: 1}, 1); len(few) <= 5 || len(few) >= 1000 {
		t.Errorf("a limit above the number of mutants: got %d", len(few))
	}
}

func TestMutateErrors(t *testing.T) {
	t.Parallel()
	broken := example(t, map[string]string{
		"mutated.yaml": mutated["mutated.yaml"], "functions.yaml": mutated["functions.yaml"],
		"mutated.test.yaml": strings.Replace(mutated["mutated.test.yaml"], "spec.region: us", "spec.region: eu", 1),
	})
	e2e.ErrorHas(t, "a case that fails without a mutant is an error", e2e.Err(mutations(t, t.Context(), options(broken), suite.MutationOptions{})), "the case mutated/region fails without a mutant: ")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	o := options(example(t, mutated))
	o.Parallel = 1
	items := planned(t, loaded(t, o, "mutated.test.yaml"), suite.Selection{})
	n := 0
	err := suite.Mutate(ctx, items, o, suite.MutationOptions{}, func(suite.Mutation) error {
		if n++; n == 3 {
			cancel(stop)
		}
		return nil
	})
	e2e.Equal(t, "canceling ends the loop after three mutants", 3, n)
	e2e.ErrorIs(t, "the error is the cause of the cancellation", err, stop)
}

// withXRD returns the files of a suite with an XRD, whose template has a branch.
func withXRD(template string) map[string]string {
	files := fuzzed(template)
	files["mutated.test.yaml"] = strings.Replace(files["fuzzed.test.yaml"], "schemas: crd.yaml", "xrd: xrd.yaml", 1)
	delete(files, "fuzzed.test.yaml")
	return files
}

// TestMutateInputs checks that generated inputs tell mutants that no case shows from mutants
// that are equivalent to the Composition.
func TestMutateInputs(t *testing.T) {
	t.Parallel()
	template := thing("a", "", `title: "{{ $spec.size }}"`) + `
{{ if eq ($spec.size | default "") "large" }}
---
` + thing("b", "-b", "\n  count: 3\n") + `
{{ end }}
{{ if eq "same" ($spec.size | default "") }}{{ end }}`
	all := e2e.Must(mutations(t, t.Context(), options(example(t, withXRD(template))), suite.MutationOptions{Inputs: 20, Seed: 1}))(t)
	got := map[string]string{}
	for _, m := range all {
		spec, _ := json.Marshal(m.Input["spec"])
		got[fmt.Sprintf("%s %v", m.Operator, m.Was)] = fmt.Sprintf("%s %t %s", m.Status, m.Input != nil, spec)
	}
	negated := got[`negate-branch eq ($spec.size | default "") "large"`]
	e2e.Equal(t, "a branch that the case shows when it is negated", "survived false null", negated)
	e2e.Equal(t, "negating a branch without content changes nothing", "unchanged false null", got[`negate-branch eq "same" ($spec.size | default "")`])
	if constant := got["change-literal 3"]; !strings.HasPrefix(constant, "survived true {") {
		t.Errorf("a constant in a branch that no case runs: got %q", constant)
	}
}

// TestMutateTimeout checks that a mutant that does not return in time is not counted as killed.
func TestMutateTimeout(t *testing.T) {
	t.Parallel()
	o := options(example(t, mutated))
	o.Timeout = 2 * time.Second
	o.Config.Wrap = func(next function.Runner) function.Runner {
		return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			if strings.Contains(fmt.Sprint(req.GetInput().AsMap()), "private:false") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return next.RunFunction(ctx, name, req)
		})
	}
	all := e2e.Must(mutations(t, t.Context(), o, suite.MutationOptions{}))(t)
	for _, m := range all {
		e2e.Equal(t, fmt.Sprintf("%s of %s timed out (its status is %s)", m.Operator, m.Field, m.Status), strings.HasSuffix(m.Field, "base.spec.private"), m.Status == suite.TimedOut)
	}
}

// TestMutateKnown checks that mutants with a known verdict are not tried again, unless something
// changed that the verdict depends on.
func TestMutateKnown(t *testing.T) {
	t.Parallel()
	files := maps.Clone(mutated)
	files["required.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	files["mutated.test.yaml"] = strings.Replace(files["mutated.test.yaml"], "defaults: {", "defaults: {required: required.yaml, ", 1)
	all := e2e.Must(mutations(t, t.Context(), options(example(t, files)), suite.MutationOptions{}))(t)
	known := map[string]suite.Verdict{}
	for _, m := range all {
		known[m.Key] = suite.Verdict{Status: suite.Killed, Case: "known"}
	}
	if len(known) != len(all) {
		t.Fatalf("%d mutants have %d keys", len(all), len(known))
	}
	for name, tc := range map[string]struct {
		reason, file, was, is, version string
		want                           int
	}{
		"Same":     {reason: "a verdict is used again if nothing changed", want: len(all)},
		"Case":     {reason: "an expectation changed", file: "mutated.test.yaml", was: "spec.private: true", is: "spec.private: {exists: true}"},
		"File":     {reason: "a file changed that a case names and no template uses", file: "required.yaml", was: "name: a", is: "name: b"},
		"Function": {reason: "the version of a function changed", file: "functions.yaml", was: "v0.10.0", is: "v0.9.0"},
		"Version":  {reason: "the version of xfn changed", version: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := maps.Clone(files)
			if tc.file != "" {
				changed[tc.file] = strings.Replace(changed[tc.file], tc.was, tc.is, 1)
			}
			again, err := mutations(t, t.Context(), options(example(t, changed)), suite.MutationOptions{Version: tc.version, Known: known})
			if err != nil || len(again) != len(all) {
				t.Fatalf("%s: got %d mutants, want %d: %v", tc.reason, len(again), len(all), err)
			}
			n := 0
			for _, m := range again {
				if m.Case == "known" {
					n++
				}
			}
			e2e.Equal(t, tc.reason+": verdicts that were used again", tc.want, n)
		})
	}
}

// TestMutateTemplateFiles checks that the keys of mutants depend on the files that templates
// read, even if the change has no effect on the cases.
func TestMutateTemplateFiles(t *testing.T) {
	t.Parallel()
	files := maps.Clone(mutated)
	files["mutated.yaml"] += `  - step: file
    functionRef: {name: function-go-templating}
    input: {apiVersion: gotemplating.fn.crossplane.io/v1beta1, kind: GoTemplate, source: FileSystem, fileSystem: {dirPath: file.tmpl}}
`
	o := options(example(t, files))
	dir := t.TempDir()
	o.Config.BuiltinOptions.GoTemplating.Templates = []gotemplating.Folder{{Dir: dir}}
	keys := func(text string) map[string]bool {
		t.Helper()
		e2e.WriteFile(t, filepath.Join(dir, "file.tmpl"), text)
		all, err := mutations(t, t.Context(), o, suite.MutationOptions{Most: 2})
		if err != nil || len(all) != 2 {
			t.Fatalf("got %d mutants: %v", len(all), err)
		}
		return map[string]bool{all[0].Key: true, all[1].Key: true}
	}
	was, same, is := keys("{{/* a */}}"), keys("{{/* a */}}"), keys("{{/* b */}}")
	e2e.Equal(t, "the same files have the same keys", same, was)
	for key := range is {
		if was[key] {
			t.Errorf("the file changed, but the key is the same: %s", key)
		}
	}
}

// BenchmarkMutants tries the mutants of the example in the docs several times, and reports the
// time for a thousand of them.
func BenchmarkMutants(b *testing.B) {
	text := e2e.ReadFile(b, "../../examples/bucket/bucket.test.yaml")
	o := options(example(b, map[string]string{"bucket.test.yaml": text}))
	items := planned(b, loaded(b, o, "bucket.test.yaml"), suite.Selection{})
	const times = 10
	benchtest.Measure(b, "Mutants", benchtest.Jobs{XFN: func(string) benchtest.Cost {
		n := 0
		cost := benchtest.Timed(func() {
			for range times {
				err := suite.Mutate(b.Context(), items, o, suite.MutationOptions{Inputs: 20, Seed: 1}, func(suite.Mutation) error {
					n++
					return nil
				})
				e2e.NoError(b, err)
			}
		})
		return benchtest.Cost{Took: cost.Took * 1000 / time.Duration(n)}
	}})
}
