package xfntest_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xfntest"
)

func bucketCase() xfntest.Case {
	return xfntest.Case{XR: "testdata/xr.yaml", Composition: "testdata/composition.yaml", Functions: functions()}
}

func TestRenderGolden(t *testing.T) {
	xfntest.Render(t, bucketCase()).Golden(t, "testdata/golden/bucket.yaml")
}

// A recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
}

type failed struct{}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.TB.Context() }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(failed{})
}

// record returns the failures of a test.
func record(t *testing.T, test func(testing.TB)) []string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(failed{}) {
				panic(p)
			}
		}()
		test(r)
	}()
	return r.failures
}

func TestGoldenFails(t *testing.T) {
	text := e2e.ReadFile(t, "testdata/golden/bucket.yaml")
	changed := filepath.Join(t.TempDir(), "changed.yaml")
	e2e.WriteFile(t, changed, strings.ReplaceAll(text, "eu-north-1", "eu-south-1"))
	for path, want := range map[string]string{
		changed:                "eu-south-1",
		changed + ".not-there": "run the test with -update to write it",
	} {
		got := record(t, func(tb testing.TB) { xfntest.Render(tb, bucketCase()).Golden(tb, path) })
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("got failures %q, want one with %q", got, want)
		}
	}
}

func TestUpdate(t *testing.T) {
	e2e.NoError(t, flag.Set("update", "true"))
	defer func() { _ = flag.Set("update", "false") }()
	path := filepath.Join(t.TempDir(), "new", "golden.yaml")
	got := xfntest.Render(t, bucketCase())
	got.Golden(t, path)
	e2e.NoError(t, flag.Set("update", "false"))
	got.Golden(t, path)
}

func TestRunFails(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*xfntest.Case)
		want   string
	}{
		"XR":          {"the error names a missing file", func(c *xfntest.Case) { c.XR = "testdata/none.yaml" }, "none.yaml"},
		"Kind":        {"a file with another kind than Composition is an error", func(c *xfntest.Case) { c.Composition = c.XR }, "expected a Composition"},
		"Unknown":     {"an unknown field of a Composition is an error with file and line", func(c *xfntest.Case) { c.Composition = "testdata/unknown.yaml" }, "testdata/unknown.yaml:12: spec.pipeline[0].inptu: unknown field of a Composition: the API server drops it, did you mean input?"},
		"Match":       {"a Composition for another kind than the XR's is an error", func(c *xfntest.Case) { c.XR = "testdata/observed.yaml" }, "is of kind Bucket"},
		"Function":    {"an unknown function is an error", func(c *xfntest.Case) { c.Functions = nil }, `calls function "function-bucket"`},
		"XRD":         {"an XRD of another kind than the XR's is an error", func(c *xfntest.Case) { c.XRD = "testdata/xr.yaml" }, "applying the XRD"},
		"Invalid":     {"an XR that its XRD does not allow is an error with file and line", func(c *xfntest.Case) { c.XR, c.XRD = "testdata/invalid.yaml", "testdata/xrd.yaml" }, `testdata/invalid.yaml:6: an API server refuses this XBucket: unknown field "spec.regoin", did you mean region?`},
		"Observed":    {"a missing file of observed resources is an error", func(c *xfntest.Case) { c.Observed = []string{"none"} }, "loading observed resources"},
		"Required":    {"a missing file of required resources is an error", func(c *xfntest.Case) { c.Required = []string{"none"} }, "loading required resources"},
		"Credentials": {"a missing file of credentials is an error", func(c *xfntest.Case) { c.Credentials = []string{"none"} }, "loading credentials"},
		"Context":     {"a context value that JSON cannot encode is an error", func(c *xfntest.Case) { c.Context = map[string]any{"a": t} }, "encoding the context"},
		"Profile":     {"an unknown profile is an error", func(c *xfntest.Case) { c.Profile = "v9" }, `unknown profile "v9"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := bucketCase()
			tc.change(&c)
			e2e.ErrorHas(t, tc.reason, e2e.Err(xfntest.Run(t.Context(), c)), tc.want)
			e2e.Equal(t, tc.reason+": Render fails with", 1, len(record(t, func(tb testing.TB) { xfntest.Render(tb, c) })))
		})
	}
}

// keeper changes its request and keeps its response.
type keeper struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
	context map[string]any
	rsp     *fnv1.RunFunctionResponse
}

func (k *keeper) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	k.context = req.GetContext().AsMap()
	req.GetObserved().GetComposite().GetResource().Fields["spec"] = structpb.NewStringValue("changed")
	if k.rsp == nil {
		k.rsp = &fnv1.RunFunctionResponse{Context: req.GetContext()}
	}
	return k.rsp, nil
}

// Functions get copies of messages and share none with the engine or each other.
func TestFunctionsGetCopies(t *testing.T) {
	k := &keeper{}
	c := bucketCase()
	c.Functions["function-auto-ready"] = k
	c.Context = map[string]any{"key": "value"}
	for range 2 {
		got := xfntest.Render(t, c)
		if region, _, _ := unstructured.NestedString(got.XR.Object, "spec", "region"); region != "eu-north-1" {
			t.Errorf("the XR was changed: %v", got.XR.Object)
		}
		if k.context["key"] != "value" || got.Context["key"] != "value" {
			t.Errorf("got context %v, and %v after the pipeline", k.context, got.Context)
		}
	}
}
