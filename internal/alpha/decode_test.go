package alpha_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// FuzzDecode checks that Decode neither panics nor changes its argument.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"resources:\n" + till + ", patches: [{fromFieldPath: spec.slots, toFieldPath: 'spec.l[0].a', policy: {mergeOptions: {appendSlice: true}}}]}",
		"patchSets: [{name: a, patches: [{type: CombineToComposite, toFieldPath: status.x, combine: {strategy: string, string: {fmt: '%d'}, variables: [{fromFieldPath: spec.drawers}]}}]}]\nresources:\n" + till + ", patches: [{type: PatchSet, patchSetName: a}], connectionDetails: [{name: a, value: b}], readinessChecks: [{type: MatchString, fieldPath: a, matchString: b}]}",
		"environment: {patches: [{fromFieldPath: spec.slots, toFieldPath: a}]}\nresources:\n" + till + ", patches: [{type: ToEnvironmentFieldPath, fromFieldPath: spec.drawers, toFieldPath: kind}]}",
		calls("echo"), "functions: [{name: a, type: Container, container: {image: x, timeout: 1s, resources: {limits: {cpu: 1}}, runner: {}}}]",
		"resources: [null]", "functions: [null]", "resources: [{name: a, base: {kind: 1}}]",
	} {
		f.Add(seed)
	}
	echoes := alpha.ContainerRunnerFunc(func(_ context.Context, req alpha.ContainerRequest) ([]byte, error) { return req.Input, nil })
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(text)}.Object()
		if err != nil {
			return
		}
		c, err := alpha.Decode(map[string]any{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "spec": spec})
		if err != nil {
			return
		}
		w := world{existing: []string{exists("till", "spec: {drawers: 1}, status: {}")}}
		store := alpha.NewStore(&unstructured.Unstructured{Object: e2e.Object(t, w.existing[0])})
		_, _ = alpha.Run(t.Context(), alpha.Request{XR: w.composite(t), Composition: c, Environment: map[string]any{"zone": "eu"}}, echoes, store)
	})
}

// TestCancelledPatches checks that a reconcile stops applying patches when its
// context is canceled, and that the error contains the cause.
func TestCancelledPatches(t *testing.T) {
	w := world{}
	c := decoded(t, map[string]any{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "spec": e2e.Object(t, "resources:\n"+till+", patches: [{fromFieldPath: spec.slots}]}")})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	store := alpha.NewStore()
	if _, err := alpha.Run(ctx, alpha.Request{XR: w.composite(t), Composition: c}, nil, store); !errors.Is(err, enough) || len(store.Calls()) > 0 {
		t.Errorf("got %v, and calls %q", err, store.Calls())
	}
}
