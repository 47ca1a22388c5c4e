package validate_test

import (
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// benchDefinition is an XRD of realistic size, with CEL rules on each level.
const benchDefinition = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xapps.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: XApp, plural: xapps}
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
            required: [image, size]
            x-kubernetes-validations:
            - {rule: "self.minReplicas <= self.maxReplicas", message: replicas}
            - {rule: "!has(self.env) || self.env.all(e, e.name.startsWith('A'))", message: env}
            properties:
              image: {type: string, pattern: '^[a-z0-9./:-]+$', x-kubernetes-validations: [{rule: "!self.endsWith(':latest')"}]}
              size: {type: string, enum: [small, medium, large]}
              minReplicas: {type: integer, minimum: 0, default: 1}
              maxReplicas: {type: integer, maximum: 100, default: 3}
              since: {type: string, format: date-time}
              labels: {type: object, additionalProperties: {type: string, maxLength: 63}}
              env:
                type: array
                maxItems: 100
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}
`

// benchDocuments returns n objects of the kind that benchDefinition defines,
// with a dozen fields each.
func benchDocuments(n int) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) {
		for i := range n {
			text := fmt.Sprintf("apiVersion: example.org/v1\nkind: XApp\nmetadata:\n  name: app-%d\n  labels: {team: a, tier: b}\nspec:\n  image: registry.example.org/acme/app:v%d\n  size: small\n  minReplicas: 2\n  since: 2026-01-02T03:04:05Z\n  labels:\n    one: \"1\"\n    two: \"2\"\n  env:\n  - name: A\n    value: x\n  - name: AB\n    value: z\n", i, i)
			if !yield(manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(text)}, nil) {
				return
			}
		}
	}
}

// BenchmarkDocuments decodes and validates 10,000 resources against one XRD
// with CEL rules. The aim is less than 3 s on two cores.
func BenchmarkDocuments(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		start := time.Now()
		v := validate.New(definitions(b, benchDefinition), validate.Options{Composition: checked, Namespace: "default"})
		var counts validate.Counts
		if err := v.Documents(b.Context(), benchDocuments(n), func(r validate.Result) error {
			if counts.Add(r); r.Status != validate.Valid {
				b.Fatalf("got %+v", r)
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		if counts.Valid != n {
			b.Fatalf("got %+v", counts)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/10000")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "MiB-heap")
}
