package apiservertest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e/apiservertest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// compareVerdicts compares the results of xfn validate for the objects of a folder with
// what the server says when it creates them.
func compareVerdicts(t *testing.T, server *apiservertest.Server, dir string) {
	definitions, resources := filepath.Join(dir, "definitions.yaml"), filepath.Join(dir, "objects.yaml")
	installed(t, server, definitions)
	out, _ := xfn(t, "validate", definitions, resources, "--format", "json")
	var got struct{ Results []validate.Result }
	unmarshal(t, out, &got)
	objs := objects(t, resources)
	if len(objs) != len(got.Results) {
		t.Fatalf("xfn printed %d results for %d objects", len(got.Results), len(objs))
	}
	for i, obj := range objs {
		compareVerdict(t, got.Results[i], server.Create(t, obj, true))
	}
}

// compareVerdict compares a result of xfn with the server's response. xfn must report each
// fault that the server reports, in the same words. It may report more, because the server
// does not validate an object with unknown fields.
func compareVerdict(t *testing.T, got validate.Result, want apiservertest.Response) {
	t.Helper()
	if ok := got.Status == validate.Valid; ok != want.OK() {
		t.Errorf("%s:%d: xfn says %s, and the server answers %d\nxfn: %v\nserver: %s", got.Path, got.Line, got.Status, want.Code, got.Faults, want.Message())
		return
	}
	for _, cause := range want.Causes() {
		if !slices.ContainsFunc(got.Faults, func(f validate.Fault) bool { return strings.Contains(cause, f.Text) }) {
			t.Errorf("%s:%d: xfn does not report what the server reports\nxfn: %v\nserver: %s", got.Path, got.Line, got.Faults, cause)
		}
	}
}
