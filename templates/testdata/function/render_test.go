package main

import (
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/xfntest"
)

// TestExample renders the example, before and after its Deployment runs. Run
// go test with -update to write the golden files.
func TestExample(t *testing.T) {
	cases := map[string]struct {
		reason   string
		observed []string
	}{
		"new":     {reason: "An App is not ready before its resources exist."},
		"running": {reason: "The Deployment is ready once it is available.", observed: []string{"example/observed.yaml"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := xfntest.Render(t, xfntest.Case{
				XR:          "example/xr.yaml",
				XRD:         "example/definition.yaml",
				Composition: "example/composition.yaml",
				Observed:    tc.observed,
				Functions: map[string]fnv1.FunctionRunnerServiceServer{
					"function-example": &Function{log: logging.NewNopLogger()},
				},
			})
			if got.Composed["deployment"] == nil {
				t.Errorf("%s The App has no Deployment: %v", tc.reason, got.Composed)
			}
			got.Golden(t, "testdata/golden/"+name+".yaml")
		})
	}
}
