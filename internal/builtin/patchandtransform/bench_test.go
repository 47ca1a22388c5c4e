package patchandtransform_test

import (
	"fmt"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			req := requestWith(b, n)
			r := patchandtransform.New(nil, true)
			b.ReportAllocs()
			for b.Loop() {
				rsp, err := r.RunFunction(b.Context(), "f", req)
				if err != nil || len(rsp.GetDesired().GetResources()) != n || len(rsp.GetResults()) > 0 {
					b.Fatal(rsp, err)
				}
			}
		})
	}
}

// requestWith returns a request whose input has n resources with ten typical patches each.
func requestWith(b *testing.B, n int) *fnv1.RunFunctionRequest {
	patch := func(from, to string, transforms ...any) any {
		return map[string]any{"type": "FromCompositeFieldPath", "fromFieldPath": from, "toFieldPath": to, "transforms": transforms}
	}
	text := func(format string) any {
		return map[string]any{"type": "string", "string": map[string]any{"type": "Format", "fmt": format}}
	}
	patches := []any{
		patch("spec.region", "spec.forProvider.region"),
		patch("spec.size", "spec.forProvider.storageGB"),
		patch("spec.tags", "spec.forProvider.tags"),
		patch("metadata.name", "metadata.annotations[example.org/owner]"),
		patch("metadata.labels[team]", "metadata.labels[team]"),
		patch("spec.region", "spec.forProvider.zone", text("%s-a")),
		patch("spec.class", "spec.forProvider.class", map[string]any{"type": "map", "map": map[string]any{"small": "db.t3.small", "large": "db.m5.large"}}),
		patch("spec.size", "spec.forProvider.maxGB", map[string]any{"type": "math", "math": map[string]any{"type": "Multiply", "multiply": 2}}),
		patch("spec.size", "spec.forProvider.label", map[string]any{"type": "convert", "convert": map[string]any{"toType": "string"}}),
		map[string]any{"type": "CombineFromComposite", "toFieldPath": "spec.forProvider.id", "combine": map[string]any{
			"strategy": "string", "string": map[string]any{"fmt": "%s-%s"},
			"variables": []any{map[string]any{"fromFieldPath": "metadata.name"}, map[string]any{"fromFieldPath": "spec.region"}},
		}},
	}
	var resources []any
	for i := range n {
		resources = append(resources, map[string]any{
			"name": fmt.Sprintf("resource-%d", i), "patches": patches,
			"base": map[string]any{
				"apiVersion": "db.example.org/v1", "kind": "Instance",
				"spec": map[string]any{"forProvider": map[string]any{"engine": "postgres", "public": false}, "deletionPolicy": "Delete"},
			},
		})
	}
	return &fnv1.RunFunctionRequest{
		Input: object(b, map[string]any{"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources}),
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(b, map[string]any{
			"apiVersion": "example.org/v1", "kind": "Database",
			"metadata": map[string]any{"name": "orders", "labels": map[string]any{"team": "shop"}},
			"spec":     map[string]any{"region": "eu-north-1", "size": 20, "class": "small", "tags": map[string]any{"a": "b", "c": "d"}},
		})}},
	}
}

func object(b *testing.B, m map[string]any) *structpb.Struct {
	b.Helper()
	return e2e.Must(structpb.NewStruct(m))(b)
}
