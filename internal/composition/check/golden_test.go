package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// onPurpose are the cases that are judged otherwise than the function did.
var onPurpose = map[string]string{
	"combine-bad-frompolicy-not-validated":  "a policy that is none counts as Optional for patches that combine",
	"conn-missing-key-and-path":             "a path that is none makes no connection detail",
	"names-duplicate-both-rendered":         "of two bases of one name the first is thrown away",
	"names-duplicate-second-dropped":        "of two bases of one name the first is thrown away",
	"ready-matchcondition-nil-not-observed": "a missing condition kills the function once the resource is there",
	"ready-matchinteger-huge":               "an integer that protobuf does not carry is one in a Composition",
	"wcs-v2-patch-bad-type-unused":          "a patch that fails once it is used",
	"wcs-v2-patch-no-from":                  "a patch that has no value to write",
	"wcs-v2-patch-no-from-no-to":            "a patch that has no value to write",
}

// TestGolden checks the inputs that the real function was given: no integrity
// error is found in what it took, and one is in all that it refused.
func TestGolden(t *testing.T) {
	requests, err := filepath.Glob("../../../testdata/golden/pt/*/request.yaml")
	if err != nil || len(requests) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, path := range requests {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			request, err := manifest.Document{Text: text}.Object()
			if err != nil {
				t.Fatal(err)
			}
			answer, err := os.ReadFile(filepath.Join(dir, "response.json"))
			if err != nil {
				t.Fatal(err)
			}
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
			for _, p := range check.Composition(e, known(t), check.Warn) {
				if !p.Warning {
					wrong = append(wrong, p.Error())
				}
			}
			refused := strings.Contains(string(answer), "cannot get Function input") || strings.Contains(string(answer), "invalid Function input")
			failed := strings.Contains(string(answer), "SEVERITY_FATAL")
			differs := refused && wrong == nil || !failed && wrong != nil
			if _, listed := onPurpose[filepath.Base(dir)]; listed != differs {
				t.Errorf("differs: got %t, want %t: found %q, the function answered %s", differs, listed, wrong, answer)
			}
		})
	}
}
