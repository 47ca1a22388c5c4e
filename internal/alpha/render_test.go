package alpha_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// renderRequest returns a request with a template and a function, for an XR whose
// connection details are in a Secret.
func renderRequest(t *testing.T) alpha.Request {
	t.Helper()
	c, err := alpha.Decode(e2e.Object(t, `
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
`))
	e2e.NoError(t, err)
	return alpha.Request{
		XR:          resource(t, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {size: 3, writeConnectionSecretToRef: {name: own, namespace: ns}}}`),
		Composition: c,
	}
}

func resource(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: e2e.Object(t, text)}
}

func resources(t *testing.T, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, text := range texts {
		all = append(all, resource(t, text))
	}
	return all
}

// functionOf returns a ContainerRunner that runs the function change, which
// changes the FunctionIO that it gets.
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

func TestRender(t *testing.T) {
	req := renderRequest(t)
	before := req.XR.DeepCopy()
	var seen *fnio.FunctionIO
	got, err := alpha.Render(t.Context(), functionOf(t, func(io *fnio.FunctionIO) {
		seen = io
		io.Results = []fnio.Result{{Severity: fnio.Warning, Message: "odd"}}
	}), req, resources(t, ownSecret, boltSecret, bolt, kept))
	e2e.NoError(t, err)
	e2e.Equal(t, "Render does not change the XR", before, req.XR)
	var names []string
	for _, o := range seen.Observed.Resources {
		names = append(names, o.Name)
	}
	e2e.Equal(t, "Secrets without the annotation are not composed resources", []string{"bolt", "kept"}, names)
	e2e.Equal(t, "connection details are the XR's own and its resources'", map[string]any{"mine": "eA==", "key": "dmFsdWU="}, got.ConnectionDetails["data"])
	kinds := []any{got.XR["kind"], got.ConnectionDetails["kind"]}
	for _, doc := range append(got.Composed, got.Results...) {
		kinds = append(kinds, doc["kind"])
	}
	e2e.Equal(t, "each kind of document is in the output", []any{"XWidget", "ConnectionDetails", "Bolt", "Result"}, kinds)
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

// TestRenderPausedAndDeleted checks that no function runs for an XR that the reconciler does not
// compose.
func TestRenderPausedAndDeleted(t *testing.T) {
	t.Parallel()
	run := alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) {
		return nil, errors.New("a function was called")
	})
	for _, tc := range []struct{ reason, field, want string }{
		{"Crossplane deletes the XR and runs no function", "deletionTimestamp: '2024-05-05T05:05:05Z'", "Ready False Deleting, Synced True ReconcileSuccess"},
		{"a paused XR does not change, and its condition has no message before v1.14", "annotations: {crossplane.io/paused: 'true'}", "Synced False ReconcilePaused"},
	} {
		req := renderRequest(t)
		req.XR = resource(t, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, `+tc.field+`}, spec: {size: 3}}`)
		out := e2e.Must(alpha.Render(t.Context(), run, req, resources(t, bolt)))(t)
		var got []string
		list, _, _ := unstructured.NestedSlice(out.XR, "status", "conditions")
		for _, c := range list {
			fields := c.(map[string]any)
			got = append(got, fmt.Sprint(fields["type"], " ", fields["status"], " ", fields["reason"]))
			if fields["message"] != nil {
				t.Errorf("%s: got the message %v", tc.reason, fields["message"])
			}
		}
		if text := strings.Join(got, ", "); text != tc.want || len(out.Composed) != 0 || out.XR["spec"] != nil || out.Full["spec"] == nil {
			t.Errorf("%s: got %q, %v and %v", tc.reason, text, out.XR, out.Composed)
		}
	}
}

func TestRenderFull(t *testing.T) {
	got := e2e.Must(alpha.Render(t.Context(), functionOf(t, func(*fnio.FunctionIO) {}), renderRequest(t), nil))(t)
	if size, _, _ := unstructured.NestedInt64(got.Full, "spec", "size"); size != 3 {
		t.Errorf("got %v", got.Full)
	}
	if refs, _, _ := unstructured.NestedSlice(got.Full, "spec", "resourceRefs"); len(refs) != 1 {
		t.Errorf("got references %v", refs)
	}
}

// TestRenderLeftBehind checks composed resources of a template that a function
// dropped. Without LiteralDeletion they are deleted, and with it they are kept.
func TestRenderLeftBehind(t *testing.T) {
	for literal, want := range map[bool][2]string{
		false: {`composed resource "bolt", Bolt "alpha-x", is deleted`, ""},
		true:  {"", `composed resource "bolt", Bolt "alpha-x", is left behind: it is no longer desired, but is not deleted`},
	} {
		req := renderRequest(t)
		req.LiteralDeletion = literal
		got := e2e.Must(alpha.Render(t.Context(), functionOf(t, func(io *fnio.FunctionIO) { io.Desired.Resources = nil }), req, resources(t, bolt)))(t)
		e2e.Equal(t, fmt.Sprintf("LiteralDeletion %v decides whether the resource is deleted", literal), want, [2]string{strings.Join(got.Notes, "\n"), strings.Join(got.Warnings, "\n")})
	}
}

// TestRenderUnrendered checks that a resource that could not be rendered causes a warning.
func TestRenderUnrendered(t *testing.T) {
	req := renderRequest(t)
	req.XR.Object["spec"] = "text"
	got := e2e.Must(alpha.Render(t.Context(), functionOf(t, func(*fnio.FunctionIO) {}), req, nil))(t)
	want := []string{`composed resource "bolt" is left out, since it could not be rendered: cannot apply the patch at index 0: spec: not an object`}
	if diff := cmp.Diff(want, got.Warnings); diff != "" || len(got.Composed) > 0 {
		t.Errorf("got %v, and warnings (-want +got):\n%s", got.Composed, diff)
	}
}

func TestRenderFails(t *testing.T) {
	_, err := alpha.Render(t.Context(), functionOf(t, func(io *fnio.FunctionIO) {
		io.Results = []fnio.Result{{Severity: fnio.Fatal, Message: "no size fits"}}
	}), renderRequest(t), nil)
	var fatal *function.FatalError
	if want := "cannot run Composition Function pipeline: fatal function pipeline result: no size fits"; err == nil || err.Error() != want || !errors.As(err, &fatal) {
		t.Errorf("got %v, want %s, as a fatal error", err, want)
	}
	broken := errors.New("broken")
	_, err = alpha.Render(t.Context(), alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) { return nil, broken }), renderRequest(t), nil)
	if !errors.Is(err, broken) || errors.As(err, &fatal) {
		t.Errorf("got %v, want an error that is not a Fatal result", err)
	}
}
