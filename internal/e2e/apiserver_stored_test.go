package e2e_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/e2e"
	definition "github.com/xfn-dev/xfn/internal/schema/crd"
)

// appliesDifferently has the reasons of the cases in which a server-side apply has another
// verdict than a create: it refuses nulls of fields that are not nullable, never drops unknown
// fields of objects with properties, and always drops unknown fields of objects without
// properties.
var appliesDifferently = map[string]bool{
	"a null of a field that is not nullable is dropped":               true,
	"a null in an object is dropped, and the object stays":            true,
	"a null in an object of an array is dropped":                      true,
	"a null value of a map is dropped":                                true,
	"an unknown field is dropped without field validation":            true,
	"unknown fields of elements are dropped without field validation": true,
	"an object without properties has no known fields":                true,
	"a known object below preserved fields has no unknown fields":     true,
	"a preserving spec does not preserve fields of Crossplane":        true,
}

// A storedCase is an XR, and the object that an API server stores for it. The README.md in
// internal/schema/testdata/xr describes the fields.
type storedCase struct {
	Reason          string         `json:"reason"`
	XR              map[string]any `json:"xr"`
	Old             map[string]any `json:"old"`
	FieldValidation string         `json:"fieldValidation"`
	Refused         string         `json:"refused"`
	Stored          map[string]any `json:"stored"`
	Namespace       *string        `json:"namespace"`
}

// storedCases returns the XRDs and the cases in a file.
func storedCases(t *testing.T, path string) (xrds []map[string]any, cases []storedCase) {
	t.Helper()
	for _, obj := range readObjects(t, path) {
		if definition.IsXRD(obj) {
			xrds = append(xrds, obj)
			continue
		}
		var c storedCase
		e2e.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj, &c))
		cases = append(cases, c)
	}
	return xrds, cases
}

// compareStored compares the cases for XRs, which the tests of the package schema compare with
// xfn, with the server.
func compareStored(t *testing.T, server *apiServer) {
	paths := e2e.Glob(t, filepath.Join("..", "schema", "testdata", "xr", "*.yaml"))
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			xrds, cases := storedCases(t, path)
			for _, xrd := range xrds {
				crds := e2e.Must(definition.All(xrd))(t)
				server.Install(t, crds...)
			}
			for _, c := range cases {
				t.Run(c.Reason, func(t *testing.T) { compareCase(t, server, c) })
			}
		})
	}
}

func compareCase(t *testing.T, server *apiServer, c storedCase) {
	o := writeOptions{DryRun: true, DropUnknown: c.FieldValidation == "Ignore"}
	send := server.Create
	if c.Old != nil {
		if r := server.Create(t, c.Old, writeOptions{}); !r.OK() {
			t.Logf("not compared, because the old object can only be stored with an older schema: %s", r.Message())
			return
		}
		defer func() { storedObject(t, server.Delete(t, c.Old)) }()
		send = server.Update
	}
	r := send(t, c.XR, o)
	if r.OK() != (c.Refused == "") || !strings.Contains(r.Message(), c.Refused) {
		t.Fatalf("want the message %q, but the server answers %d: %s", c.Refused, r.Code, r.Message())
	}
	u := unstructured.Unstructured{Object: c.XR}
	if u.GetName() != "" {
		applied := server.Apply(t, c.XR, "test", o)
		if same := applied.OK() == r.OK(); same == appliesDifferently[c.Reason] {
			t.Errorf("the server answers a server-side apply with %d: %s", applied.Code, applied.Message())
		}
	}
	if c.Refused != "" {
		return
	}
	// The cases leave out the fields that all objects have.
	got := maps.Clone(r.Object)
	maps.DeleteFunc(got, func(key string, _ any) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata"}, key)
	})
	e2e.Equal(t, "the API server stores what the case has", c.Stored, got)
	u.Object = r.Object
	if c.Namespace != nil && u.GetNamespace() != *c.Namespace {
		t.Errorf("want the namespace %q, got %q", *c.Namespace, u.GetNamespace())
	}
}
