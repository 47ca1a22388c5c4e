package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// oneCore limits a Go program to one core.
const oneCore = "GOMAXPROCS=1"

// onEachCore calls run, a job for one core, once for each core at the same time. It returns the time
// divided by the number of cores: the time of one job that uses all cores and never waits. It is
// longer than the time on one core divided by their number if the cores slow each other down, as
// they do by their shared cache and memory, or if they are not free.
func onEachCore(run func()) benchtest.Cost {
	cores := runtime.NumCPU()
	cost := benchtest.Timed(func() {
		var jobs sync.WaitGroup
		for range cores {
			jobs.Go(run)
		}
		jobs.Wait()
	})
	cost.Took /= time.Duration(cores)
	return cost
}

// BenchmarkRenderMany renders many XRs with Patch & Transform and auto-ready.
func BenchmarkRenderMany(b *testing.B) {
	render := func(n int) func(xfn string, env ...string) benchtest.Cost {
		dir := copyOf(b, "testdata/patched", map[string]string{
			"many.yaml": repeated(n, "---\n{apiVersion: example.crossplane.io/v1, kind: XBucket, metadata: {name: bucket-%d}, spec: {bucketRegion: us-east-2}}\n"),
		})
		return func(xfn string, env ...string) benchtest.Cost {
			return benchtest.RunWith(b, env, dir, xfn, "render", "--xr", "many.yaml", "--all-documents", "composition.yaml", "functions.yaml", "-q")
		}
	}
	few, many, more := render(2_000), render(10_000), render(20_000)
	benchtest.Measure(b, "RenderMany", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { return many(xfn) },
		Limit: func() benchtest.Cost { return many(e2e.Binary(b), oneCore) },
		Floor: func() benchtest.Cost { return onEachCore(func() { many(e2e.Binary(b), oneCore) }) },
	})
	benchtest.Measure(b, "RenderLinear", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { return more(xfn) },
		Limit: func() benchtest.Cost { return few(e2e.Binary(b)) },
	})
}

// BenchmarkValidate validates resources against an XRD with CEL rules.
func BenchmarkValidate(b *testing.B) {
	const resource = `---
apiVersion: example.org/v1
kind: XApp
metadata: {name: app-%[1]d, namespace: default, labels: {team: a, tier: b}}
spec:
  image: registry.example.org/acme/app:v%[1]d
  size: small
  minReplicas: 2
  since: 2026-01-02T03:04:05Z
  labels: {one: "1", two: "2"}
  env: [{name: A, value: x}, {name: AB, value: z}]
`
	resources := repeated(10_000, resource)
	dir := copyOf(b, "../schema/validate/testdata", map[string]string{"resources.yaml": resources})
	validate := func(xfn string, env ...string) benchtest.Cost {
		return benchtest.RunWith(b, env, dir, xfn, "validate", "apps.yaml", "resources.yaml", "-q")
	}
	benchtest.Measure(b, "Validate", benchtest.Jobs{
		XFN: func(xfn string) benchtest.Cost { return validate(xfn) },
		Floor: func() benchtest.Cost {
			return benchtest.Timed(func() { validateAlone(b, e2e.ReadFile(b, filepath.Join(dir, "apps.yaml")), resources) })
		},
		CLI: func(cli string) benchtest.Cost {
			return benchtest.Try(b, dir, cli, "beta", "validate", "apps.yaml", "resources.yaml", "--skip-success-results")
		},
	})
	benchtest.Measure(b, "ValidateCores", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { return validate(xfn) },
		Limit: func() benchtest.Cost { return validate(e2e.Binary(b), oneCore) },
		Floor: func() benchtest.Cost { return onEachCore(func() { validate(e2e.Binary(b), oneCore) }) },
	})
}

// validateAlone validates resources against the schema and the rules of an XRD, with nothing but
// the libraries of the API server, on all cores.
func validateAlone(b *testing.B, definition, resources string) {
	b.Helper()
	var xrd struct {
		Spec struct {
			Versions []struct {
				Schema extv1.CustomResourceValidation
			}
		}
	}
	e2e.NoError(b, yaml.Unmarshal([]byte(definition), &xrd))
	var props apiextensions.JSONSchemaProps
	e2e.NoError(b, extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(xrd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil))
	tree := e2e.Must(structural.NewStructural(&props))(b)
	forms, _, err := validation.NewSchemaValidator(&props)
	e2e.NoError(b, err)
	rules := cel.NewValidator(tree, true, celconfig.PerCallLimit)
	texts := strings.Split(strings.TrimPrefix(resources, "---\n"), "\n---\n")
	var g errgroup.Group
	for part := range slices.Chunk(texts, 100) {
		g.Go(func() error {
			for _, text := range part {
				var object map[string]any
				if err := utilyaml.Unmarshal([]byte(text), &object); err != nil {
					return err
				}
				defaulting.Default(object, tree)
				errs := validation.ValidateCustomResource(nil, object, forms)
				more, _ := rules.Validate(b.Context(), nil, tree, object, nil, celconfig.RuntimeCELCostBudget)
				if err := append(errs, more...).ToAggregate(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	e2e.NoError(b, g.Wait())
}

// BenchmarkSuite runs suites of the example in the docs.
func BenchmarkSuite(b *testing.B) {
	run := func(n int) func(xfn string, args ...string) benchtest.Cost {
		dir := copyOf(b, "../../examples/bucket", map[string]string{"bucket.test.yaml": `apiVersion: xfn.dev/v1alpha1
kind: TestSuite
metadata: {name: many}
defaults: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}
cases:
- name: region ${each.region}
  each:
` + repeated(n, "  - {region: r%d}\n") + `  xr: {patch: {spec: {bucketRegion: "${each.region}"}}}
  expect: {count: {total: 1}, resources: {storage-bucket: {spec.forProvider.region: "${each.region}"}}}
`})
		return func(xfn string, args ...string) benchtest.Cost {
			return benchtest.Run(b, dir, xfn, append([]string{"test", "-q"}, args...)...)
		}
	}
	few, many := run(1_000), run(10_000)
	dir := copyOf(b, "../../examples/bucket", map[string]string{
		"many.yaml": repeated(1_000, "---\n{apiVersion: example.crossplane.io/v1, kind: XBucket, metadata: {name: bucket-%[1]d}, spec: {bucketRegion: r%[1]d}}\n"),
	})
	benchtest.Measure(b, "Suite", benchtest.Jobs{
		XFN: func(xfn string) benchtest.Cost { return few(xfn) },
		Floor: func() benchtest.Cost {
			return benchtest.Run(b, dir, e2e.Binary(b), "render", "--xr", "many.yaml", "--all-documents", "composition.yaml", "functions.yaml", "-q")
		},
	})
	benchtest.Measure(b, "SuiteLinear", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { return many(xfn) },
		Limit: func() benchtest.Cost { return few(e2e.Binary(b)) },
	})
	benchtest.Measure(b, "Coverage", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { return few(xfn, "--coverage") },
		Limit: func() benchtest.Cost { return few(e2e.Binary(b)) },
	})
}

// BenchmarkDefinitions builds a package of 17 MiB of XRDs. The limit parses their YAML once,
// with the parser of Kubernetes.
func BenchmarkDefinitions(b *testing.B) {
	dir := b.TempDir()
	texts := map[string]string{"crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: bench}\n"}
	for i := range 2_700 {
		texts[fmt.Sprintf("xrd-%d.yaml", i)] = strings.ReplaceAll(benchDefinition, "NAME", fmt.Sprintf("app%d", i)) +
			repeated(24, "              field%d:\n                description: |-\n                  Says what the field is for in a few words, as generated descriptions\n                  do: over two lines, with \"quotes\" and: colons.\n                type: array\n                items: {type: integer, format: int64}\n")
	}
	copyFiles(b, filepath.Join(dir, "package"), texts)
	args := []string{"xpkg", "build", "-f", "package", "-o", "out.xpkg"}
	benchtest.Measure(b, "Definitions", benchtest.Jobs{
		XFN: func(xfn string) benchtest.Cost { return benchtest.Run(b, dir, xfn, args...) },
		Limit: func() benchtest.Cost {
			return benchtest.Timed(func() {
				for _, text := range texts {
					var v any
					e2e.NoError(b, yaml.Unmarshal([]byte(text), &v))
				}
			})
		},
		Floor: func() benchtest.Cost {
			return benchtest.Timed(func() {
				for _, text := range texts {
					var v any
					e2e.NoError(b, yaml.Unmarshal([]byte(text), &v))
					e2e.NoError(b, e2e.Err(yaml.Marshal(v)))
				}
			})
		},
		CLI: func(cli string) benchtest.Cost { return benchtest.Try(b, dir, cli, args...) },
	})
}

// benchDefinition is the start of an XRD, up to the properties of its spec.
const benchDefinition = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xNAMEs.example.org}
spec:
  group: example.org
  names: {kind: XNAME, plural: xNAMEs}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
`

// repeated returns a format n times, with the numbers from 0 to n-1.
func repeated(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// copyOf returns a new folder with the files of another one, and with files.
func copyOf(b *testing.B, from string, files map[string]string) string {
	b.Helper()
	dir := b.TempDir()
	entries := e2e.Must(os.ReadDir(from))(b)
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = e2e.ReadFile(b, filepath.Join(from, e.Name()))
	}
	copyFiles(b, dir, all)
	copyFiles(b, dir, files)
	return dir
}

func copyFiles(b *testing.B, dir string, files map[string]string) {
	b.Helper()
	e2e.NoError(b, os.MkdirAll(dir, 0o755))
	e2e.WriteFiles(b, dir, files)
}
