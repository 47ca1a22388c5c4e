package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/render"
)

// alphaRequest is a request for an XR that has a Secret, with a template and a
// function.
func alphaRequest(t *testing.T, observed ...string) render.AlphaRequest {
	t.Helper()
	c, err := alpha.Decode(object(t, `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
spec:
  resources:
  - name: bolt
    base: {apiVersion: parts.gold.test/v1, kind: Bolt}
    patches: [{fromFieldPath: spec.size}]
    connectionDetails: [{fromConnectionSecretKey: key}]
    readinessChecks: [{type: None}]
  functions:
  - {name: f, type: Container, container: {image: acme/f}}
`).Object)
	if err != nil {
		t.Fatal(err)
	}
	req := render.AlphaRequest{
		XR:          object(t, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {size: 3, writeConnectionSecretToRef: {name: own, namespace: ns}}}`),
		Composition: c,
	}
	for _, text := range observed {
		req.Observed = append(req.Observed, object(t, text))
	}
	return req
}

// functionOf is a Runner of a function that changes what it gets.
func functionOf(t *testing.T, change func(*fnio.FunctionIO)) alpha.ContainerRunner {
	return alpha.ContainerRunnerFunc(func(_ context.Context, req alpha.ContainerRequest) ([]byte, error) {
		io, err := fnio.Decode(req.Input)
		if err != nil {
			t.Error(err)
		}
		change(io)
		return fnio.Encode(io)
	})
}

const (
	ownSecret  = `{apiVersion: v1, kind: Secret, metadata: {name: own, namespace: ns}, data: {mine: eA==}}`
	boltSecret = `{apiVersion: v1, kind: Secret, metadata: {name: bolt, namespace: ns}, data: {key: dmFsdWU=}}`
	bolt       = `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {name: alpha-x, annotations: {crossplane.io/composition-resource-name: bolt}}, spec: {writeConnectionSecretToRef: {name: bolt, namespace: ns}}}`
	// kept is a Secret that is a composed resource.
	kept = `{apiVersion: v1, kind: Secret, metadata: {name: kept, namespace: ns, annotations: {crossplane.io/composition-resource-name: kept}}}`
)

func TestRenderAlpha(t *testing.T) {
	req := alphaRequest(t, ownSecret, boltSecret, bolt, kept)
	before := req.XR.DeepCopy()
	var seen *fnio.FunctionIO
	got, err := render.RenderAlpha(t.Context(), functionOf(t, func(io *fnio.FunctionIO) {
		seen = io
		io.Results = []fnio.Result{{Severity: fnio.Warning, Message: "odd"}}
	}), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, req.XR); diff != "" {
		t.Errorf("the XR was changed:\n%s", diff)
	}
	var names []string
	for _, o := range seen.Observed.Resources {
		names = append(names, o.Name)
	}
	if diff := cmp.Diff([]string{"bolt", "kept"}, names); diff != "" {
		t.Errorf("Secrets that no annotation says to be composed are none (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"mine": "eA==", "key": "dmFsdWU="}, got.ConnectionDetails["data"]); diff != "" {
		t.Errorf("the details are the XR's own, and those that derive from its resources (-want +got):\n%s", diff)
	}
	docs := got.Documents(render.Include{Results: true, Context: true, ConnectionDetails: true})
	var kinds []any
	for _, doc := range docs {
		kinds = append(kinds, doc["kind"])
	}
	if diff := cmp.Diff([]any{"XWidget", "Bolt", "Result", "ConnectionDetails"}, kinds); diff != "" {
		t.Errorf("there is no context (-want +got):\n%s", diff)
	}
	if _, ok := got.XR["spec"]; ok {
		t.Errorf("the XR is printed with %v", got.XR["spec"])
	}
	u := unstructured.Unstructured{Object: got.Composed[0]}
	if size, _, _ := unstructured.NestedInt64(u.Object, "spec", "size"); u.GetName() != "alpha-x" || size != 3 {
		t.Errorf("got %v", u.Object)
	}
	want := []string{`composed resource "kept", Secret "kept", is deleted`}
	if diff := cmp.Diff(want, got.Notes); diff != "" || len(got.Warnings) > 0 {
		t.Errorf("got warnings %q, and notes (-want +got):\n%s", got.Warnings, diff)
	}
}

func TestRenderAlphaFull(t *testing.T) {
	req := alphaRequest(t)
	req.Full = true
	got, err := render.RenderAlpha(t.Context(), functionOf(t, func(*fnio.FunctionIO) {}), req)
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(got.XR, "spec", "size"); size != 3 {
		t.Errorf("got %v", got.XR)
	}
	if refs, _, _ := unstructured.NestedSlice(got.XR, "spec", "resourceRefs"); len(refs) != 1 {
		t.Errorf("got references %v", refs)
	}
}

// TestRenderAlphaLeftBehind: what a function drops that has a template is deleted
// by the documentation, and left behind by the code.
func TestRenderAlphaLeftBehind(t *testing.T) {
	for literal, want := range map[bool][2]string{
		false: {`composed resource "bolt", Bolt "alpha-x", is deleted`, ""},
		true:  {"", `composed resource "bolt", Bolt "alpha-x", is left behind: nothing wants it any more, and it is not deleted`},
	} {
		req := alphaRequest(t, bolt)
		req.LiteralDeletion = literal
		got, err := render.RenderAlpha(t.Context(), functionOf(t, func(io *fnio.FunctionIO) { io.Desired.Resources = nil }), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, [2]string{strings.Join(got.Notes, "\n"), strings.Join(got.Warnings, "\n")}); diff != "" {
			t.Errorf("literal %v (-want +got):\n%s", literal, diff)
		}
	}
}

// TestRenderAlphaUnrendered: what is missing from the output is warned of.
func TestRenderAlphaUnrendered(t *testing.T) {
	req := alphaRequest(t)
	req.XR.Object["spec"] = "text"
	got, err := render.RenderAlpha(t.Context(), functionOf(t, func(*fnio.FunctionIO) {}), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`composed resource "bolt" is left out, since it could not be rendered: cannot apply the patch at index 0: spec: not an object`}
	if diff := cmp.Diff(want, got.Warnings); diff != "" || len(got.Composed) > 0 {
		t.Errorf("got %v, and warnings (-want +got):\n%s", got.Composed, diff)
	}
}

func TestRenderAlphaFails(t *testing.T) {
	_, err := render.RenderAlpha(t.Context(), functionOf(t, func(io *fnio.FunctionIO) {
		io.Results = []fnio.Result{{Severity: fnio.Fatal, Message: "no size fits"}}
	}), alphaRequest(t))
	var fatal *render.FatalError
	if want := "cannot run Composition Function pipeline: fatal function pipeline result: no size fits"; err == nil || err.Error() != want || !errors.As(err, &fatal) {
		t.Errorf("got %v, want %s, as a fatal error", err, want)
	}
	broken := errors.New("broken")
	_, err = render.RenderAlpha(t.Context(), alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) { return nil, broken }), alphaRequest(t))
	if !errors.Is(err, broken) || errors.As(err, &fatal) {
		t.Errorf("got %v, want what is no result", err)
	}
	if _, err := render.Render(t.Context(), answer(nil), request(t, render.Alpha, xr)); err == nil {
		t.Error("functions that are containers were called")
	}
}

func TestForCrossplane(t *testing.T) {
	for version, want := range map[string]render.Profile{
		"v2.3": render.V2, "v2.2.1": render.Classic, "1.15": render.Classic1, "v1.14": render.ClassicBeta,
		"v1.13.2": render.Alpha, "v1.11": render.Alpha, "v1.10": "",
	} {
		got, err := render.ForCrossplane(version)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v", version, got, err)
		}
	}
}
