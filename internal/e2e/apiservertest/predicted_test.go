package apiservertest_test

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

	"github.com/xfn-dev/xfn/internal/e2e/apiservertest"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
)

// comparePrediction compares the output of xfn diff with what changes on the server. The
// folder has an XR, an old and a new Composition and, optionally, what another owner applies
// to the composed resources before the Composition changes. Its differences.yaml maps the
// paths whose predictions are known to differ to the reasons.
func comparePrediction(t *testing.T, server *apiservertest.Server, dir string, crds []map[string]any) {
	file := func(name string) string { return filepath.Join(dir, name) }
	xr := stored(t, server.Create(t, objects(t, file("xr.yaml"))[0], apiservertest.Options{}))

	before := compose(t, server, xr, file("old.yaml"), nil)
	if others, _ := filepath.Glob(file("others.yaml")); len(others) > 0 {
		for _, obj := range objects(t, others[0]) {
			stored(t, server.Apply(t, obj, "kubectl", apiservertest.Options{}))
		}
	}
	for name, obj := range before {
		before[name] = stored(t, server.Get(t, obj))
	}
	xr = stored(t, server.Get(t, xr))
	dump := slices.Concat([]map[string]any{xr}, objects(t, file("old.yaml")), crds, values(before))
	want := predict(t, file("new.yaml"), dump)

	got := map[string][]fieldpath.Change{}
	after := compose(t, server, xr, file("new.yaml"), values(before))
	for name, obj := range after {
		if changes := fieldpath.Diff(withoutBookkeeping(before[name]), withoutBookkeeping(obj)); before[name] != nil && len(changes) > 0 {
			got[name] = changes
		}
	}
	// As in the JSON of xfn diff, all numbers become float64.
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	unmarshal(t, text, &got)
	known := knownDifferences(t, file("differences.yaml"))
	for path := range known {
		if cmp.Equal(split(got, path), split(want, path)) {
			t.Errorf("differences.yaml has %s, whose prediction is right", path)
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-the API server's change +the prediction of xfn diff):\n%s", diff)
	}
}

// knownDifferences returns the reasons in a file by path, or nil if there is no file.
func knownDifferences(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]string
	if err := yaml.Unmarshal(text, &known); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return known
}

// split removes the changes of a path from all, and returns them by the key of all.
func split(all map[string][]fieldpath.Change, path string) map[string][]fieldpath.Change {
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

// compose does what Crossplane does: it applies the composed resources that a Composition
// renders, and their references in the XR. It returns the stored resources by kind and name.
func compose(t *testing.T, server *apiservertest.Server, xr map[string]any, composition string, observed []map[string]any) map[string]map[string]any {
	t.Helper()
	args := []string{write(t, "xr.yaml", xr), composition}
	if len(observed) > 0 {
		args = append(args, "--observed-resources", write(t, "observed.yaml", observed...))
	}
	rendered := render(t, args...)
	all := map[string]map[string]any{}
	for _, obj := range rendered[1:] {
		all[id(obj)] = stored(t, server.Apply(t, obj, owner(xr), apiservertest.Options{}))
	}
	refs, _, _ := unstructured.NestedSlice(rendered[0], "spec", "crossplane", "resourceRefs")
	u := unstructured.Unstructured{Object: rendered[0]}
	stored(t, server.Apply(t, map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(),
		"metadata": map[string]any{"name": u.GetName(), "namespace": u.GetNamespace()},
		"spec":     map[string]any{"crossplane": map[string]any{"resourceRefs": refs}},
	}, "apiextensions.crossplane.io/composite", apiservertest.Options{}))
	return all
}

// predict returns the changes that xfn diff prints for resources that exist and stay, by
// kind and name.
func predict(t *testing.T, composition string, dump []map[string]any) map[string][]fieldpath.Change {
	t.Helper()
	items := make([]any, len(dump))
	for i, obj := range dump {
		items[i] = obj
	}
	list := write(t, "dump.yaml", map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	out, ok := xfn(t, "diff", composition, "-o", list, "--format", "json")
	if !ok {
		t.Fatal("xfn cannot predict")
	}
	var printed struct {
		CompositeResources []struct{ Changes []report.DocDiff }
	}
	unmarshal(t, out, &printed)
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

// stored returns the object that the server stored. It fails the test if the server refused
// the request.
func stored(t *testing.T, r apiservertest.Response) map[string]any {
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

// id returns the kind and name of an object.
func id(obj map[string]any) string {
	u := unstructured.Unstructured{Object: obj}
	return strings.TrimSpace(u.GetKind() + " " + u.GetName())
}

// values returns the values of all in the order of their keys.
func values(all map[string]map[string]any) []map[string]any {
	var out []map[string]any
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}
