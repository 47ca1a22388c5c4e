package e2e_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
)

// comparePrediction compares the output of xfn diff with what changes on the server. The
// folder has an XR, an old and a new Composition and, optionally, what another owner applies
// to the composed resources before the Composition changes. Its differences.yaml maps the
// paths whose predictions are known to differ to the reasons.
func comparePrediction(t *testing.T, server *apiServer, dir string, crds []map[string]any) {
	file := func(name string) string { return filepath.Join(dir, name) }
	xr := storedObject(t, server.Create(t, readObjects(t, file("xr.yaml"))[0], writeOptions{}))

	before := applyRendered(t, server, xr, file("old.yaml"), nil)
	if others, _ := filepath.Glob(file("others.yaml")); len(others) > 0 {
		for _, obj := range readObjects(t, others[0]) {
			storedObject(t, server.Apply(t, obj, "kubectl", writeOptions{}))
		}
	}
	for name, obj := range before {
		before[name] = storedObject(t, server.Get(t, obj))
	}
	xr = storedObject(t, server.Get(t, xr))
	dump := slices.Concat([]map[string]any{xr}, readObjects(t, file("old.yaml")), crds, sortedValues(before))
	want := predictChanges(t, file("new.yaml"), dump)

	got := map[string][]fieldpath.Change{}
	after := applyRendered(t, server, xr, file("new.yaml"), sortedValues(before))
	for name, obj := range after {
		if changes := fieldpath.Diff(withoutBookkeeping(before[name]), withoutBookkeeping(obj)); before[name] != nil && len(changes) > 0 {
			got[name] = changes
		}
	}
	// As in the JSON of xfn diff, all numbers become float64.
	text := e2e.Must(json.Marshal(got))(t)
	clear(got)
	unmarshalJSON(t, text, &got)
	known := knownPredictions(t, file("differences.yaml"))
	for path := range known {
		if cmp.Equal(splitChanges(got, path), splitChanges(want, path)) {
			t.Errorf("differences.yaml has %s, whose prediction is right", path)
		}
	}
	e2e.Equal(t, "xfn diff predicts the change of the API server", got, want)
}

// knownPredictions returns the reasons in a file by path, or nil if there is no file.
func knownPredictions(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	e2e.NoError(t, err)
	var known map[string]string
	if err := yaml.Unmarshal(text, &known); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return known
}

// splitChanges removes the changes of a path from all, and returns them by the key of all.
func splitChanges(all map[string][]fieldpath.Change, path string) map[string][]fieldpath.Change {
	removed := map[string][]fieldpath.Change{}
	for name, changes := range all {
		all[name] = slices.DeleteFunc(changes, func(c fieldpath.Change) bool {
			if c.Path == path {
				removed[name] = append(removed[name], c)
			}
			return c.Path == path
		})
	}
	return removed
}

// applyRendered does what Crossplane does: it applies the composed resources that a Composition
// renders, and their references in the XR. It returns the stored resources by kind and name.
func applyRendered(t *testing.T, server *apiServer, xr map[string]any, composition string, observed []map[string]any) map[string]map[string]any {
	t.Helper()
	args := []string{writeObjects(t, "xr.yaml", xr), composition}
	if len(observed) > 0 {
		args = append(args, "--observed-resources", writeObjects(t, "observed.yaml", observed...))
	}
	rendered := renderObjects(t, args...)
	all := map[string]map[string]any{}
	for _, obj := range rendered[1:] {
		all[kindAndName(obj)] = storedObject(t, server.Apply(t, obj, fieldManager(xr), writeOptions{}))
	}
	refs, _, _ := unstructured.NestedSlice(rendered[0], "spec", "crossplane", "resourceRefs")
	u := unstructured.Unstructured{Object: rendered[0]}
	storedObject(t, server.Apply(t, map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(),
		"metadata": map[string]any{"name": u.GetName(), "namespace": u.GetNamespace()},
		"spec":     map[string]any{"crossplane": map[string]any{"resourceRefs": refs}},
	}, "apiextensions.crossplane.io/composite", writeOptions{}))
	return all
}

// predictChanges returns the changes that xfn diff prints for resources that exist and stay, by
// kind and name.
func predictChanges(t *testing.T, composition string, dump []map[string]any) map[string][]fieldpath.Change {
	t.Helper()
	items := make([]any, len(dump))
	for i, obj := range dump {
		items[i] = obj
	}
	list := writeObjects(t, "dump.yaml", map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	out, ok := runXFN(t, "diff", composition, "-o", list, "--format", "json")
	if !ok {
		t.Fatal("xfn cannot predict")
	}
	var printed struct {
		CompositeResources []struct{ Changes []report.DocDiff }
	}
	unmarshalJSON(t, out, &printed)
	all := map[string][]fieldpath.Change{}
	for _, xr := range printed.CompositeResources {
		for _, c := range xr.Changes {
			if c.Op == report.Changed {
				all[c.Kind+" "+c.Name] = c.Changes
			}
		}
	}
	return all
}

// storedObject returns the object that the server stored. It fails the test if the server refused
// the request.
func storedObject(t *testing.T, r apiResponse) map[string]any {
	t.Helper()
	if !r.OK() {
		t.Fatalf("the API server answers %d: %s", r.Code, r.Message())
	}
	return r.Object
}

// withoutBookkeeping returns a copy of obj without the fields that the server changes at
// each write.
func withoutBookkeeping(obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	u := (&unstructured.Unstructured{Object: obj}).DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}

// kindAndName returns the kind and name of an object.
func kindAndName(obj map[string]any) string {
	u := unstructured.Unstructured{Object: obj}
	return strings.TrimSpace(u.GetKind() + " " + u.GetName())
}

// sortedValues returns the values of all in the order of their keys.
func sortedValues(all map[string]map[string]any) []map[string]any {
	var out []map[string]any
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}
