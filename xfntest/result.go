package xfntest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/render"
)

var update = flag.Bool("update", false, "write the golden files of xfntest instead of comparing with them")

// A Result is the output of a render.
type Result struct {
	// XR is the composite resource with all of its fields. Its status has what
	// the pipeline desires.
	XR *unstructured.Unstructured
	// Conditions are the conditions in the XR's status. Crossplane's own conditions
	// Ready and Synced are among them.
	Conditions []metav1.Condition
	// Composed are the composed resources, by their name in the pipeline, with
	// the labels and owner references that Crossplane adds.
	Composed map[string]*unstructured.Unstructured
	// Results are the results that functions returned, by step of the pipeline.
	// FATAL results are not among them: they are errors of Run.
	Results map[string][]*fnv1.Result
	// Context is the context that the last function returned.
	Context map[string]any

	documents []map[string]any
}

func newResult(r *render.Result, results map[string][]*fnv1.Result) (*Result, error) {
	out := &Result{
		XR:       &unstructured.Unstructured{Object: r.XR},
		Composed: map[string]*unstructured.Unstructured{},
		Results:  results,
	}
	out.Context, _ = r.Context["fields"].(map[string]any)
	out.documents = r.Documents(render.Include{Results: true, Context: len(out.Context) > 0})
	for _, obj := range r.Composed {
		u := &unstructured.Unstructured{Object: obj}
		out.Composed[u.GetAnnotations()["crossplane.io/composition-resource-name"]] = u
	}
	status, _, _ := unstructured.NestedMap(r.XR, "status")
	var list struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &list); err != nil {
		return nil, fmt.Errorf("decoding the conditions of the composite resource: %w", err)
	}
	out.Conditions = list.Conditions
	return out, nil
}

// Golden compares the result with a golden file: the XR, the composed resources,
// the events and the context, as YAML documents. It fails the test and shows the
// difference if they differ. With the flag -update it writes the file instead.
func (r *Result) Golden(t testing.TB, path string) {
	t.Helper()
	var got bytes.Buffer
	if err := manifest.Write(&got, r.documents...); err != nil {
		t.Fatalf("encoding the result: %v", err)
	}
	if *update {
		if err := fsx.WriteInDir(path, 0o644, got.Bytes()); err != nil {
			t.Fatalf("writing golden file %q: %v", path, err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("golden file %q does not exist; run the test with -update to write it", path)
	}
	if err != nil {
		t.Fatalf("reading golden file: %v", err)
	}
	wantObjects, err := manifest.Objects(path, want)
	if err != nil {
		t.Fatalf("reading golden file: %v", err)
	}
	gotObjects, err := manifest.Objects("result", got.Bytes())
	if err != nil {
		t.Fatalf("decoding the result: %v", err)
	}
	if diff := cmp.Diff(wantObjects, gotObjects); diff != "" {
		t.Errorf("the result differs from golden file %q; run the test with -update to rewrite it (-golden +result):\n%s", path, diff)
	}
}
