package alpha_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A vector is a golden case in testdata/golden/xfn-alpha. The README there
// describes the fields.
type vector struct {
	composition, xr map[string]any
	existing        []map[string]any
	steps           []any
	expect          map[string]any
}

func loadVector(t *testing.T, path string) vector {
	t.Helper()
	text := []byte(e2e.ReadFile(t, path))
	obj := e2e.Must(manifest.Document{Path: path, Line: 1, Text: text}.Object())(t)
	v := vector{
		composition: obj["composition"].(map[string]any), xr: obj["xr"].(map[string]any),
		steps: obj["steps"].([]any), expect: obj["expect"].(map[string]any),
	}
	for _, e := range obj["existing"].([]any) {
		v.existing = append(v.existing, e.(map[string]any))
	}
	return v
}

func objects(all ...map[string]any) []*unstructured.Unstructured {
	us := make([]*unstructured.Unstructured, len(all))
	for i, o := range all {
		us[i] = &unstructured.Unstructured{Object: o}
	}
	return us
}

// script returns a runner that expects the requests of a vector, in order.
func (v vector) script(t *testing.T, calls *int) alpha.ContainerRunner {
	return alpha.ContainerRunnerFunc(func(_ context.Context, req alpha.ContainerRequest) ([]byte, error) {
		step := v.steps[*calls].(map[string]any)
		*calls++
		var stdin any
		e2e.NoError(t, kyaml.Unmarshal(req.Input, &stdin))
		e2e.Equal(t, fmt.Sprintf("the standard input of step %d differs", *calls), roundTrip(t, step["expectStdin"]), sortLists(stdin))
		e2e.Equal(t, fmt.Sprintf("the request of step %d differs", *calls), step["request"], requestOf(req))
		return []byte(step["stdout"].(string)), nil
	})
}

// roundTrip encodes and decodes v, so that it can be compared with a decoded
// value. It sorts the lists of named objects.
func roundTrip(t *testing.T, v any) any {
	t.Helper()
	text := e2e.Must(kyaml.Marshal(v))(t)
	var again any
	e2e.NoError(t, kyaml.Unmarshal(text, &again))
	return sortLists(again)
}

// sortLists sorts all lists in v by the field name of their elements.
func sortLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			sortLists(e)
		}
	case []any:
		name := func(e any) string {
			m, _ := e.(map[string]any)
			return fmt.Sprint(m["name"])
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(name(a), name(b)) })
		for _, e := range v {
			sortLists(e)
		}
	}
	return v
}

// requestOf returns a request with the field names that vectors use.
func requestOf(req alpha.ContainerRequest) any {
	return map[string]any{
		"image": req.Image, "cpu": req.CPU, "memory": req.Memory, "timeout": req.Timeout.String(),
		"pullPolicy": map[alpha.PullPolicy]string{
			"IfNotPresent": "IMAGE_PULL_POLICY_IF_NOT_PRESENT", "Always": "IMAGE_PULL_POLICY_ALWAYS", "Never": "IMAGE_PULL_POLICY_NEVER",
		}[req.PullPolicy],
		"network": map[alpha.NetworkPolicy]string{
			"": "NETWORK_POLICY_UNSPECIFIED", "Isolated": "NETWORK_POLICY_ISOLATED", "Runner": "NETWORK_POLICY_RUNNER",
		}[req.Network],
	}
}

// outcome returns the result of a reconcile with the field names that vectors use.
func outcome(result *alpha.Result, err error, store *alpha.Store) map[string]any {
	got := map[string]any{"apiCalls": strs(store.Calls()), "objectsAfter": []any{}, "xrStatusInMemory": nil}
	for _, o := range store.Objects() {
		if o.GetKind() != "Secret" {
			got["objectsAfter"] = append(got["objectsAfter"].([]any), o.Object)
		}
	}
	if err != nil {
		got["error"] = err.Error()
		return got
	}
	got["xrStatusInMemory"] = result.XR.Object["status"]
	ready, details, events := map[string]any{}, map[string]any{}, []any{}
	for _, c := range result.Composed {
		ready[c.Name] = c.Ready
	}
	for name, value := range result.ConnectionDetails {
		details[name] = string(value)
	}
	for _, e := range result.Events {
		events = append(events, map[string]any{"type": string(e.Type), "reason": "ComposeResources", "message": e.Message})
	}
	got["ready"], got["connectionDetails"], got["events"] = ready, details, events
	return got
}

// strs converts write calls to a list as in a decoded vector.
func strs(calls []string) any {
	if len(calls) == 0 {
		return nil
	}
	all := make([]any, len(calls))
	for i, c := range calls {
		all[i] = c
	}
	return all
}

// run reconciles the XR of a vector, and compares the result with want.
func (v vector) run(t *testing.T, literal bool, want map[string]any) {
	t.Helper()
	store := alpha.NewStore(objects(v.existing...)...)
	calls := 0
	result, err := alpha.Run(t.Context(), alpha.Request{
		XR: &unstructured.Unstructured{Object: v.xr}, Composition: decoded(t, v.composition), LiteralDeletion: literal,
	}, v.script(t, &calls), store)
	e2e.Equal(t, "the number of functions that are called", len(v.steps), calls)
	v.expect = want
	v.compare(t, result, err, store)
}

// compare compares the result of a reconcile with the expected result of the vector.
func (v vector) compare(t *testing.T, result *alpha.Result, err error, store *alpha.Store) {
	t.Helper()
	e2e.Equal(t, "the outcome is the recorded one", v.expect, outcome(result, err, store))
}

func decoded(t *testing.T, obj map[string]any) *alpha.Composition {
	t.Helper()
	return e2e.Must(alpha.Decode(obj))(t)
}

func vectors(t *testing.T) []string {
	t.Helper()
	paths := e2e.Glob(t, "../../testdata/golden/xfn-alpha/*.yaml")
	if len(paths) < 12 {
		t.Fatalf("got the vectors %q", paths)
	}
	return paths
}

func TestVectors(t *testing.T) {
	for _, path := range vectors(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			v := loadVector(t, path)
			v.run(t, true, v.expect)
		})
	}
}

// TestDocumentedDeletion reconciles the vectors without LiteralDeletion, so that
// resources are deleted as Crossplane's documentation says. The map dropped has
// the two vectors for which this differs from Crossplane's code.
func TestDocumentedDeletion(t *testing.T) {
	dropped := map[string]string{"04-drop-pt-resource": "Awning stall-k7-aaaaa", "12-xr-labels-dropped": "Till stall-k7-old"}
	for _, path := range vectors(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			v := loadVector(t, path)
			want := maps.Clone(v.expect)
			if gone, ok := dropped[name]; ok {
				want["apiCalls"] = slices.Insert(want["apiCalls"].([]any), 0, any("delete "+gone))
				want["objectsAfter"] = slices.DeleteFunc(want["objectsAfter"].([]any), func(o any) bool {
					u := unstructured.Unstructured{Object: o.(map[string]any)}
					return u.GetKind()+" "+u.GetName() == gone
				})
			}
			v.run(t, false, want)
		})
	}
}
