package schema_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// TestVerdicts compares the Validator that validate, render and test use, and the defaults
// that render sets, with the verdicts of an API server.
func TestVerdicts(t *testing.T) {
	paths := e2e.Glob(t, "testdata/xr/*.yaml")
	for _, path := range paths {
		xrds, cases := storedCases(t, path)
		for _, c := range cases {
			t.Run(filepath.Base(path)+"/"+c.Reason, func(t *testing.T) { c.check(t, xrds) })
		}
	}
}

func (c verdict) check(t *testing.T, xrds []map[string]any) {
	switch got := c.faults(t, xrds); {
	case c.Refused != "" && !strings.Contains(strings.Join(got, "\n"), c.Refused):
		t.Errorf("want the fault %q, got %q", c.Refused, got)
	case c.Refused == "" && len(got) > 0:
		t.Errorf("want no fault, got %q", got)
	}
	if c.Refused != "" {
		return
	}
	for _, xrd := range xrds {
		for _, def := range e2e.Must(schema.Define(xrd))(t) {
			u := &unstructured.Unstructured{Object: c.XR}
			if def.GroupKind != u.GroupVersionKind().GroupKind() {
				continue
			}
			got := e2e.Must(def.Stored(c.XR))(t)
			e2e.Equal(t, c.Reason, c.Stored, ownFields(got))
			if c.Namespace != nil && def.Namespaced != (*c.Namespace != "") {
				t.Errorf("want the namespace %q, but namespaced is %t", *c.Namespace, def.Namespaced)
			}
		}
		c.checkDefaults(t, xrd)
	}
}

// faults returns the faults of the XR by the CRDs of xrds.
func (c verdict) faults(t *testing.T, xrds []map[string]any) []string {
	t.Helper()
	var all []validate.Definition
	for _, xrd := range xrds {
		for _, o := range e2e.Must(crd.All(xrd))(t) {
			all = append(all, validate.Definition{Object: o})
		}
	}
	o := validate.Options{Namespace: validate.DefaultNamespace}
	if c.Old != nil {
		var err error
		if o.Old, err = validate.ReadOld(func(yield func(manifest.Document, error) bool) { yield(document(t, c.Old), nil) }); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, r := range validate.New(all, o).Document(t.Context(), document(t, c.XR)) {
		if r.Status == validate.NoSchema {
			t.Fatalf("the XR has no definition: %v", r.Faults)
		}
		for _, f := range r.Faults {
			if c.FieldValidation != "Ignore" || !strings.HasPrefix(f.Text, "unknown field ") {
				found = append(found, f.Text)
			}
		}
	}
	return found
}

// checkDefaults compares the stored XR with the XR that functions see in a render. They are
// equal unless the XR has unknown fields or nulls that Removed returns.
func (c verdict) checkDefaults(t *testing.T, obj map[string]any) {
	xrd := e2e.Must(schema.NewXRD(obj))(t)
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c.XR)}
	if xrd.Defines(u.GroupVersionKind()) != nil || c.FieldValidation == "Ignore" {
		return
	}
	e2e.NoError(t, xrd.Default(u))
	var removed []string
	cleared := false
	for _, f := range xrd.Removed(u.Object) {
		if f.Field == "metadata.namespace" {
			cleared = true
		} else {
			removed = append(removed, f.Field)
		}
	}
	if diff := cmp.Diff(c.Stored, ownFields(u.Object)); (diff == "") != (len(removed) == 0) {
		t.Errorf("with defaults, and with %q, which is removed (-want +got):\n%s", removed, diff)
	}
	e2e.Equal(t, "the namespace is cleared", c.Namespace != nil && u.GetNamespace() != *c.Namespace && *c.Namespace == "", cleared)
}

func document(t *testing.T, obj map[string]any) manifest.Document {
	t.Helper()
	text := e2e.Must(json.Marshal(obj))(t)
	return manifest.Document{Path: "xr.yaml", Line: 1, Text: text}
}
