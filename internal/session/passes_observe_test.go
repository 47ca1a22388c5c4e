package session_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

// secondObserved renders two passes and returns the state that functions observe in the second.
func secondObserved(t *testing.T, req render.Request, response, fixtureList string) *fnv1.State {
	t.Helper()
	var second *fnv1.State
	run := passRunner(t, func(observed *fnv1.State, call int) string {
		if call == 2 {
			second = proto.CloneOf(observed)
		}
		return response
	})
	e2e.NoError(t, e2e.Err(session.RenderPasses(t.Context(), run, req, 2, parsedFixtures(t, fixtureList))))
	return second
}

func TestPassObserved(t *testing.T) {
	const bolt = `{"desired": {"resources": {"a": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt", "metadata": {"name": "mine"}, "spec": {"x": 1}, "status": {"desired": 1}}}}}}`
	const given = `apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {name: mine, uid: u, annotations: {crossplane.io/composition-resource-name: a, was: there}}`
	ready := map[string]any{"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": reconciler.Time}
	unready := map[string]any{"type": "Ready", "status": "False", "reason": "Creating", "lastTransitionTime": reconciler.Time}
	cases := map[string]struct {
		reason, given, fixtures string
		path                    []string
		want                    any
	}{
		"StatusIsTheProviders": {"a status that functions desire is not observed", "", "", []string{"status"}, nil},
		"StatusStays":          {"the user's observed fields are kept", `{` + given + `, status: {a: 1}}`, "", []string{"status"}, map[string]any{"a": 1.0}},
		"StatusMerges": {
			"fixtures are merged in order",
			`{` + given + `, status: {m: {a: 1, l: [1, 2]}}}`,
			"- {match: {resource: a}, status: {m: {b: 2, l: [3]}}}\n- {match: {apiVersion: parts.gold.test/v1, kind: Bolt, name: mine}, status: {m: {b: 3}}}\n",
			[]string{"status"},
			map[string]any{"m": map[string]any{"a": 1.0, "b": 3.0, "l": []any{3.0}}},
		},
		"Ready":   {"a resource without a status gets the condition Ready", "", "- {match: {resource: a}, ready: true}\n", []string{"status", "conditions"}, []any{ready}},
		"Unready": {"a resource that is not ready gets the condition with status False", "", "- {match: {resource: a}, ready: false}\n", []string{"status", "conditions"}, []any{unready}},
		"ReadyInPlace": {
			"other conditions and fields are kept",
			`{` + given + `, status: {conditions: [odd, {type: Ready, status: Unknown}, {type: Synced}]}}`,
			"- {match: {resource: a}, ready: true}\n",
			[]string{"status", "conditions"},
			[]any{"odd", ready, map[string]any{"type": "Synced"}},
		},
		"ReadyAfterStatus": {
			"ready is added to the conditions of the same fixture", "",
			"- {match: {resource: a}, ready: true, status: {conditions: [{type: Synced}]}}\n",
			[]string{"status", "conditions"},
			[]any{map[string]any{"type": "Synced"}, ready},
		},
		"Metadata": {
			"fixtures are merged into metadata; rendered values win, and other observed values are kept", `{` + given + `}`,
			"- {match: {resource: a}, metadata: {name: other, uid: v, annotations: {x: added, crossplane.io/composition-resource-name: z}}}\n",
			[]string{"metadata"},
			map[string]any{
				"name": "mine", "uid": "v",
				"annotations": map[string]any{"crossplane.io/composition-resource-name": "a", "was": "there", "x": "added"},
			},
		},
		"Kind": {
			"a resource of another kind with the same name is new",
			`{apiVersion: parts.gold.test/v1, kind: Nut, metadata: {name: mine, uid: u, annotations: {crossplane.io/composition-resource-name: a}}, status: {a: 1}}`,
			"",
			[]string{"status"},
			nil,
		},
		"Version": {
			"a resource of another version of its kind is the same",
			`{apiVersion: parts.gold.test/v9, kind: Bolt, metadata: {name: mine, annotations: {crossplane.io/composition-resource-name: a}}, status: {a: 1}}`,
			"",
			[]string{"status"},
			map[string]any{"a": 1.0},
		},
		"NotDesired": {
			"an observed resource that is not desired is deleted",
			`{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {name: old, annotations: {crossplane.io/composition-resource-name: old}}}`,
			"",
			[]string{"spec"},
			map[string]any{"x": 1.0},
		},
	}
	for name, tc := range cases {
		for _, profile := range passProfiles {
			t.Run(name+"/"+string(profile), func(t *testing.T) {
				req := passRequest(t, profile)
				if tc.given != "" {
					req.Observed = []*unstructured.Unstructured{passObject(t, tc.given)}
				}
				state := secondObserved(t, req, bolt, tc.fixtures)
				if n := len(state.GetResources()); n != 1 {
					t.Fatalf("%s: %d resources are observed", tc.reason, n)
				}
				a := state.GetResources()["a"].GetResource().AsMap()
				for _, own := range []string{"labels", "ownerReferences", "generateName"} {
					unstructured.RemoveNestedField(a, "metadata", own)
				}
				got, _, _ := unstructured.NestedFieldNoCopy(a, tc.path...)
				e2e.Equal(t, tc.reason, tc.want, got)
			})
		}
	}
}

// TestDeletedIsForgotten: if a resource is deleted in one pass and desired
// again later, functions no longer observe its old status.
func TestDeletedIsForgotten(t *testing.T) {
	for _, profile := range passProfiles {
		req := passRequest(t, profile)
		req.Observed = []*unstructured.Unstructured{
			passObject(t, `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {name: b, annotations: {crossplane.io/composition-resource-name: b}}, status: {old: true}}`),
		}
		var statuses []bool
		run := passRunner(t, func(observed *fnv1.State, call int) string {
			_, old := observed.GetResources()["b"].GetResource().GetFields()["status"]
			statuses = append(statuses, old)
			if call == 2 {
				return "{}"
			}
			return `{"desired": {"resources": {"b": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt", "metadata": {"name": "b"}}}}}}`
		})
		e2e.NoError(t, e2e.Err(session.RenderPasses(t.Context(), run, req, 4, nil)))
		e2e.Equal(t, string(profile)+": the status is observed until the resource is deleted", []bool{true, true, false, false}, statuses)
	}
}

// TestFieldThatGoes: a field that is no longer rendered is not observed.
func TestFieldThatGoes(t *testing.T) {
	for _, profile := range passProfiles {
		var specs []any
		run := passRunner(t, func(observed *fnv1.State, call int) string {
			specs = append(specs, observed.GetResources()["a"].GetResource().AsMap()["spec"])
			if call == 1 {
				return `{"desired": {"resources": {` + boltJSON("a", `{"early": 1}`) + `}}}`
			}
			return `{"desired": {"resources": {` + boltJSON("a", `{"late": 1}`) + `}}}`
		})
		e2e.NoError(t, e2e.Err(session.RenderPasses(t.Context(), run, passRequest(t, profile), 3, nil)))
		want := []any{nil, map[string]any{"early": 1.0}, map[string]any{"late": 1.0}}
		e2e.Equal(t, string(profile)+": each pass observes the spec of the pass before", want, specs)
	}
}

func TestObservedComposite(t *testing.T) {
	const response = `{"desired": {
		"composite": {"resource": {"spec": {"size": 9}, "metadata": {"labels": {"theirs": "2"}}, "status": {"new": 1}}},
		"resources": {"x": {"resource": {"apiVersion": "v1", "kind": "B", "metadata": {"name": "b"}}}, "y": {"resource": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}}}},
		"conditions": [{"type": "Custom", "status": "STATUS_CONDITION_TRUE", "reason": "R"}]}`
	type view struct{ Labels, Refs, Spec, Status, Conditions any }
	refs := []any{map[string]any{"apiVersion": "v1", "kind": "A", "name": "a"}, map[string]any{"apiVersion": "v1", "kind": "B", "name": "b"}}
	cases := map[string]struct {
		reason  string
		profile render.Profile
		legacy  bool
		want    view
	}{
		"V2": {
			"the reconciler's references are in its field and order", render.V2, false,
			view{"1", refs, int64(3), 1.0, "Responsive Custom Synced Ready"},
		},
		"Legacy":      {"a legacy XR has references in another field", render.V2, true, view{"1", refs, int64(3), 1.0, "Responsive Custom Synced Ready"}},
		"Classic":     {"in a classic profile only the status of the XR changes", render.Classic, false, view{"1", nil, int64(3), 1.0, "Ready Custom"}},
		"ClassicBeta": {"the first version writes no conditions", render.V1_14, false, view{"1", nil, int64(3), 1.0, ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := passRequest(t, tc.profile)
			req.Legacy = tc.legacy
			unstructured.RemoveNestedField(req.XR.Object, "status")
			e2e.NoError(t, unstructured.SetNestedField(req.XR.Object, int64(7), "status", "old"))
			got := secondObserved(t, req, response, "").GetComposite().GetResource().AsMap()
			at := func(path ...string) any { v, _, _ := unstructured.NestedFieldNoCopy(got, path...); return v }
			spec := at("spec", "crossplane", "resourceRefs")
			if tc.legacy {
				spec = at("spec", "resourceRefs")
			}
			size, _ := at("spec", "size").(float64)
			is := view{at("metadata", "labels", "mine"), spec, int64(size), at("status", "new"), conditionTypes(at("status", "conditions"))}
			e2e.Equal(t, tc.reason, tc.want, is)
			if at("status", "old") != nil || at("metadata", "labels", "theirs") != nil {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

func conditionTypes(conditions any) string {
	var types []string
	for _, c := range fieldpath.List(conditions) {
		types = append(types, fieldpath.Text(c, "type"))
	}
	return strings.Join(types, " ")
}

// TestReferencesGo: the references of a composite resource are empty if it
// composes no resources.
func TestReferencesGo(t *testing.T) {
	req := passRequest(t, render.V2)
	req.Observed = []*unstructured.Unstructured{
		passObject(t, `{apiVersion: v1, kind: A, metadata: {name: a, annotations: {crossplane.io/composition-resource-name: a}}}`),
	}
	got := secondObserved(t, req, "{}", "").GetComposite().GetResource().AsMap()
	refs, ok, _ := unstructured.NestedSlice(got, "spec", "crossplane", "resourceRefs")
	if !ok || len(refs) != 0 {
		t.Errorf("got %v", refs)
	}
}

// TestConnectionDetailsStay: an observed Secret supplies connection details in
// each pass, although it is not desired.
func TestConnectionDetailsStay(t *testing.T) {
	req := passRequest(t, render.V2)
	req.Observed = []*unstructured.Unstructured{
		passObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: conn, namespace: db, annotations: {crossplane.io/composition-resource-name: mock}}, data: {k: dg==}}`),
	}
	const db = `{"desired": {"resources": {"db": {"resource": {"apiVersion": "v1", "kind": "DB", "spec": {"writeConnectionSecretToRef": {"name": "conn", "namespace": "db"}}}}}}}`
	state := secondObserved(t, req, db, "")
	if v := string(state.GetResources()["db"].GetConnectionDetails()["k"]); v != "v" || len(state.GetResources()) != 1 {
		t.Errorf("got %q of %v", v, state.GetResources())
	}
}

// TestPassesPaused: the render of a paused XR calls no function and settles after two passes.
func TestPassesPaused(t *testing.T) {
	req := passRequest(t, render.V2)
	req.XR.SetAnnotations(map[string]string{reconciler.AnnotationPaused: "true"})
	req.Observed = []*unstructured.Unstructured{
		passObject(t, `{apiVersion: v1, kind: A, metadata: {name: a, annotations: {crossplane.io/composition-resource-name: a}}}`),
	}
	run := passRunner(t, func(*fnv1.State, int) string { t.Error("a function was called"); return "{}" })
	got := e2e.Must(session.RenderPasses(t.Context(), run, req, 9, nil))(t)
	if got.Passes != 2 || !got.Settled {
		t.Errorf("got %d passes, changing %v", got.Passes, got.Changing)
	}
}

// TestReferencesInNamespace: the references of a namespaced XR are sorted by
// name, without the namespace. In this test, one name is a prefix of the other.
func TestReferencesInNamespace(t *testing.T) {
	req := passRequest(t, render.V2)
	req.XR.SetNamespace("default")
	const response = `{"desired": {"resources": {
		"x": {"resource": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a-b"}}}, "y": {"resource": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}}}}}`
	got, _, _ := unstructured.NestedSlice(secondObserved(t, req, response, "").GetComposite().GetResource().AsMap(), "spec", "crossplane", "resourceRefs")
	want := []any{map[string]any{"apiVersion": "v1", "kind": "A", "name": "a"}, map[string]any{"apiVersion": "v1", "kind": "A", "name": "a-b"}}
	e2e.Equal(t, "references are sorted by name without the namespace", want, got)
}
