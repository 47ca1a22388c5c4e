package render_test

import (
	"context"
	"fmt"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/render"
)

// TestFirstEvents has the events that Crossplane v2.4.0 emits before the pipeline runs.
func TestFirstEvents(t *testing.T) {
	const requested, selected = "ReconcileRequestHandled: Handling reconcile request", "SelectComposition: Successfully selected composition: widgets"
	cases := map[string]struct {
		reason, metadata, spec, status string
		want                           []string
	}{
		"Null":      {"an empty spec cannot have the reference", `{}`, `null`, `{}`, nil},
		"NullOwn":   {"an empty spec.crossplane cannot have the reference", `{}`, `{crossplane: null}`, `{}`, nil},
		"Text":      {"a text as spec.crossplane cannot have the reference", `{}`, `{crossplane: x}`, `{}`, nil},
		"Same":      {"the reference does not change", `{}`, `{crossplane: {compositionRef: {name: widgets}}}`, `{}`, nil},
		"Unknown":   {"an unknown field is not part of the reference", `{}`, `{crossplane: {compositionRef: {name: widgets, x: 1}}}`, `{}`, nil},
		"Kind":      {"the kind is part of the reference", `{}`, `{crossplane: {compositionRef: {name: widgets, kind: Composition}}}`, `{}`, []string{selected}},
		"NullRef":   {"a null is not the reference", `{}`, `{crossplane: {compositionRef: null}}`, `{}`, []string{selected}},
		"Malformed": {"a text is not a reference", `{}`, `{crossplane: {compositionRef: widgets}}`, `{}`, []string{selected}},
		"Request":   {"a request is handled first", `{crossplane.io/reconcile-requested-at: now}`, `{}`, `{}`, []string{requested, selected}},
		"Handled":   {"a request is handled once", `{crossplane.io/reconcile-requested-at: now}`, `{}`, `{lastHandledReconcileAt: now}`, []string{selected}},
		"Empty":     {"an empty annotation is not a request", `{crossplane.io/reconcile-requested-at: ""}`, `{}`, `{}`, []string{selected}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xr := `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, annotations: ` + tc.metadata + `}, spec: ` + tc.spec + `, status: ` + tc.status + `}`
			r := e2e.Must(render.Render(t.Context(), answer(&fnv1.RunFunctionResponse{}), request(t, render.V2, xr)))(t)
			e2e.Equal(t, tc.reason, tc.want, events(r))
		})
	}
}

func events(r *render.Result) (texts []string) {
	for _, e := range r.Results {
		texts = append(texts, fmt.Sprint(e["reason"], ": ", e["message"]))
	}
	return texts
}

// TestReconcileRequest checks what Crossplane v2.4.0 records of a request to reconcile.
func TestReconcileRequest(t *testing.T) {
	const annotation = `crossplane.io/reconcile-requested-at: now`
	xr := func(metadata string) string {
		return `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, ` + metadata + `}, status: {lastHandledReconcileAt: before}}`
	}
	var seen any
	look := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		seen = fieldpath.At(req.GetObserved().GetComposite().GetResource().AsMap(), "status", "lastHandledReconcileAt")
		return &fnv1.RunFunctionResponse{}, nil
	})
	r := e2e.Must(render.Render(t.Context(), look, request(t, render.V2, xr(`annotations: {`+annotation+`}`))))(t)
	e2e.Equal(t, "functions observe the request", any("now"), seen)
	e2e.Equal(t, "the desired status replaces it", nil, fieldpath.At(r.XR, "status", "lastHandledReconcileAt"))

	r = e2e.Must(render.Render(t.Context(), nil, request(t, render.V2, xr(`deletionTimestamp: "2024-05-05T05:05:05Z", annotations: {`+annotation+`}`))))(t)
	e2e.Equal(t, "an XR that is being deleted has the request", any("now"), fieldpath.At(r.XR, "status", "lastHandledReconcileAt"))
	e2e.Equal(t, "an XR that is being deleted has the event", []string{"ReconcileRequestHandled: Handling reconcile request"}, events(r))

	r = e2e.Must(render.Render(t.Context(), nil, request(t, render.V2, xr(`annotations: {crossplane.io/paused: "true", `+annotation+`}`))))(t)
	e2e.Equal(t, "a paused XR ignores the request", any("before"), fieldpath.At(r.XR, "status", "lastHandledReconcileAt"))
	e2e.Equal(t, "a paused XR has its event only", []string{"ReconciliationPaused: Reconciliation is paused via the pause annotation"}, events(r))
}

// TestClaimConditionTypes checks that the types of conditions for the claim are added to those that
// functions write to the status, as Crossplane v2.4.0 does.
func TestClaimConditionTypes(t *testing.T) {
	const target = `"conditions": [{"type": "X", "status": 2, "target": 2}, {"type": "Y", "status": 2, "target": 1}, {"type": "X", "status": 1, "target": 2}]`
	cases := map[string]struct {
		reason, status string
		legacy         bool
		want           any
	}{
		"None":    {"the types of conditions for the claim are written once", `{}`, true, []any{"X"}},
		"Before":  {"other types stay", `{"claimConditionTypes": ["Q", "X"]}`, true, []any{"Q", "X"}},
		"Added":   {"new types follow", `{"claimConditionTypes": ["Q"]}`, true, []any{"Q", "X"}},
		"Modern":  {"an XR that is not legacy has no claim", `{}`, false, nil},
		"Written": {"functions may write any status", `{"claimConditionTypes": ["Q"]}`, false, []any{"Q"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, render.V2, xr)
			req.Legacy = tc.legacy
			rsp := response(t, `{"desired": {"composite": {"resource": {"status": `+tc.status+`}}}, `+target+`}`)
			r := e2e.Must(render.Render(t.Context(), answer(rsp), req))(t)
			e2e.Equal(t, tc.reason, tc.want, fieldpath.At(r.XR, "status", "claimConditionTypes"))
		})
	}
}
