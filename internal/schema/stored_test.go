package schema_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// A verdict is a case in testdata/xr: an XR, and the object that an API server stores for it.
// The README.md there describes the fields.
type verdict struct {
	Reason          string         `json:"reason"`
	XR              map[string]any `json:"xr"`
	Old             map[string]any `json:"old"`
	FieldValidation string         `json:"fieldValidation"`
	Refused         string         `json:"refused"`
	Stored          map[string]any `json:"stored"`
	Namespace       *string        `json:"namespace"`
}

// storedCases returns the XRDs and the cases in a file.
func storedCases(t *testing.T, path string) (xrds []map[string]any, cases []verdict) {
	t.Helper()
	text := []byte(e2e.ReadFile(t, path))
	for _, obj := range e2e.Must(manifest.Objects(path, text))(t) {
		if crd.IsXRD(obj) {
			xrds = append(xrds, obj)
			continue
		}
		var c verdict
		e2e.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj, &c, true))
		cases = append(cases, c)
	}
	return xrds, cases
}

// ownFields returns obj without the fields that all objects have.
func ownFields(obj map[string]any) map[string]any {
	obj = maps.Clone(obj)
	maps.DeleteFunc(obj, func(key string, _ any) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata"}, key)
	})
	return obj
}
