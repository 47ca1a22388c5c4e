package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// onPurpose maps golden cases to the reason why package check and the real
// function-patch-and-transform disagree on the input.
var onPurpose = map[string]string{
	"base-no-apiversion":                    "no API server accepts a resource without apiVersion",
	"combine-bad-frompolicy-not-validated":  "a combine patch treats an unknown policy as Optional",
	"conn-missing-key-and-path":             "a malformed path adds no connection detail",
	"names-duplicate-both-rendered":         "the first of two bases with the same name is ignored",
	"names-duplicate-second-dropped":        "the first of two bases with the same name is ignored",
	"ready-matchcondition-nil-not-observed": "a missing condition crashes the function once the resource exists",
	"ready-matchinteger-huge":               "an integer that protobuf cannot represent is valid in a Composition",
	"wcs-v2-patch-bad-type-unused":          "the patch fails when it is used",
	"wcs-v2-patch-no-from":                  "the patch has no source",
	"wcs-v2-patch-no-from-no-to":            "the patch has no source",
}

// TestGolden checks the inputs of the golden cases. An input that the real
// function-patch-and-transform accepts has no integrity error. An input that the
// function rejects has one.
func TestGolden(t *testing.T) {
	requests := e2e.Glob(t, "../../../testdata/golden/pt/*/request.yaml")
	for _, path := range requests {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text := []byte(e2e.ReadFile(t, path))
			request := e2e.Must(manifest.Document{Text: text}.Object())(t)
			answer, err := os.ReadFile(filepath.Join(dir, "response.json"))
			e2e.NoError(t, err)
			in, ok := request["input"].(map[string]any)
			if !ok {
				in = map[string]any{}
			}
			in["apiVersion"], in["kind"] = "pt.fn.crossplane.io/v1beta1", "Resources"
			e := entry(t, pipeline("  resources: []\n"))
			if e.Spec.Pipeline[0].Input.Raw, err = json.Marshal(in); err != nil {
				t.Fatal(err)
			}
			var wrong []string
			for _, p := range check.Composition(t.Context(), e, options(known(t).Definition, check.Warn)) {
				if !p.Warning {
					wrong = append(wrong, p.Error())
				}
			}
			refused := strings.Contains(string(answer), "cannot get Function input") || strings.Contains(string(answer), "invalid Function input")
			failed := strings.Contains(string(answer), "SEVERITY_FATAL")
			differs := refused && wrong == nil || !failed && wrong != nil
			if _, listed := onPurpose[filepath.Base(dir)]; listed != differs {
				t.Errorf("differs is %t, want %t: found %q, the function returned %s", differs, listed, wrong, answer)
			}
		})
	}
}
