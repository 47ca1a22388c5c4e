package xpkg_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// bigCRD returns a CRD of about size bytes for the resource plural. It
// resembles CRDs that are generated from Go types.
func bigCRD(plural string, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %[1]s.fn.test\nspec:\n  group: fn.test\n  scope: Namespaced\n"+
		"  names: {kind: Input, plural: %[1]s}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n", plural)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "          field%[1]d:\n            description: |-\n              Field %[1]d says what it is for in a few words, as the descriptions of\n              types do: over lines, with \"quotes\" and: colons.\n"+
			"            type: object\n            properties:\n              name:\n                description: Name of it.\n                type: string\n              sizes:\n                type: array\n                items: {type: integer, format: int64}\n", i)
	}
	return b.String()
}

// BenchmarkRead shows that the time of reading is linear: ns per byte is the
// same for one file of any size, and for many files.
func BenchmarkRead(b *testing.B) {
	cases := map[string]struct{ files, size int }{
		"1MiB": {1, 1 << 20}, "4MiB": {1, 4 << 20}, "16MiB": {1, 16 << 20}, "16MiBIn64Files": {64, 256 << 10}, "10000Files": {10_000, 100},
	}
	for name, tc := range cases {
		b.Run(name, func(b *testing.B) {
			files := map[string]string{"p/crossplane.yaml": functionYAML}
			total := 0
			for i := range tc.files {
				text := bigCRD(fmt.Sprintf("c%d", i), tc.size)
				files[fmt.Sprintf("p/c%d.yaml", i)] = text
				total += len(text)
			}
			fsys := e2e.Memory(b, files)
			b.SetBytes(int64(total))
			b.ReportAllocs()
			for b.Loop() {
				read1(b, fsys)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(total), "ns/byte")
		})
	}
}

func read1(b *testing.B, fsys afero.Fs) {
	b.Helper()
	e2e.NoError(b, e2e.Err(xpkg.Read(b.Context(), fsys, "p", xpkg.ReadOptions{})))
}
