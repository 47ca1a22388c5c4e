package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/render"
)

func TestPausedAndDeleted(t *testing.T) {
	forbidden := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return nil, errors.New("a function was called")
	})
	cases := map[string]struct {
		reason, metadata string
		want             []string
	}{
		"Paused":  {"a paused XR does not change", `{name: alpha, generation: 4, annotations: {crossplane.io/paused: "true"}}`, []string{"Responsive True WatchCircuitClosed", "Synced False ReconcilePaused"}},
		"Deleted": {"an XR that is being deleted composes no resources", `{name: alpha, generation: 4, deletionTimestamp: "2024-05-05T05:05:05Z"}`, []string{"Responsive True WatchCircuitClosed", "Ready False Deleting", "Synced True ReconcileSuccess"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := e2e.Must(render.Render(t.Context(), forbidden, request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: `+tc.metadata+`, spec: {size: 3}}`)))(t)
			e2e.Equal(t, tc.reason, tc.want, conditions(r.XR))
			for _, c := range fieldpath.List(r.XR, "status", "conditions") {
				e2e.Equal(t, "the conditions have the generation of the XR", any(int64(4)), fieldpath.At(c, "observedGeneration"))
			}
			e2e.Equal(t, tc.reason, 0, len(r.Composed))
		})
	}
}

// TestClassicPausedAndDeleted checks that the classic versions of crossplane render call functions
// for any XR, and that a warning says what Crossplane does.
func TestClassicPausedAndDeleted(t *testing.T) {
	t.Parallel()
	run := answer(response(t, `{"desired": {"resources": {"one": {"resource": {"apiVersion": "gold.test/v1", "kind": "Bolt"}}}}}`))
	for metadata, want := range map[string]string{
		`{name: alpha, deletionTimestamp: "2024-05-05T05:05:05Z"}`:                "the composite resource is being deleted: Crossplane calls no function for it, but the imitated `crossplane render` does",
		`{name: alpha, annotations: {crossplane.io/paused: "true"}}`:              "the composite resource is paused: Crossplane calls no function for it, but the imitated `crossplane render` does",
		`{name: alpha, annotations: {crossplane.io/paused: "false"}, labels: {}}`: "",
	} {
		for _, profile := range []render.Profile{render.Classic, render.V1_20, render.V1_14} {
			r := e2e.Must(render.Render(t.Context(), run, request(t, profile, `{apiVersion: gold.test/v1, kind: XWidget, metadata: `+metadata+`, spec: {size: 3}}`)))(t)
			if got := strings.Join(r.Warnings, "\n"); got != want || len(r.Composed) != 1 {
				t.Errorf("%s of %s: got %d composed resources and the warning %q, want %q", metadata, profile, len(r.Composed), got, want)
			}
		}
	}
}
