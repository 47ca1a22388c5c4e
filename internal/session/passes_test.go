package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

var passProfiles = []render.Profile{render.V2, render.Classic, render.V1_20, render.V1_14}

// A passPipeline simulates a pipeline of one step. It gets the observed state and
// the number of the call, and returns a response as JSON.
type passPipeline func(observed *fnv1.State, call int) string

// passRunner returns a Runner that responds with what p returns.
func passRunner(t *testing.T, p passPipeline) function.Runner {
	calls := 0
	return function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		calls++
		rsp := &fnv1.RunFunctionResponse{}
		if err := protojson.Unmarshal([]byte(p(req.GetObserved(), calls)), rsp); err != nil {
			t.Error(err)
		}
		return rsp, nil
	})
}

// sequencer desires resource a, then b when a is ready, and then c when b is ready.
func sequencer(observed *fnv1.State, _ int) string {
	desired := boltJSON("a", "{}")
	if isReady(observed, "a") {
		desired += "," + boltJSON("b", "{}")
	}
	if isReady(observed, "b") {
		desired += "," + boltJSON("c", "{}")
	}
	return `{"desired": {"resources": {` + desired + `}}}`
}

// copier copies the status of resource a to the XR.
func copier(observed *fnv1.State, _ int) string {
	status := "{}"
	if s := observed.GetResources()["a"].GetResource().GetFields()["status"]; s != nil {
		status = asJSON(s.AsInterface())
	}
	return `{"desired": {"composite": {"resource": {"status": {"copied": ` + status + `}}}, "resources": {` + boltJSON("a", "{}") + `}}}`
}

// oscillator changes a field, a list element and the existence of a resource in each call.
func oscillator(_ *fnv1.State, call int) string {
	spec := fmt.Sprintf(`{"size": %d, "stays": 1, "list": ["x", {"flag.x": %t}]}`, call%2, call%2 == 0)
	desired := boltJSON("a", spec)
	if call%2 == 0 {
		desired += "," + boltJSON("b", "{}")
	}
	return `{"desired": {"composite": {"resource": {"status": {"even": ` + fmt.Sprint(call%2 == 0) + `}}}, "resources": {` + desired + `}}}`
}

// counter increments status.n of the XR in each pass, up to 4.
func counter(observed *fnv1.State, _ int) string {
	n := observed.GetComposite().GetResource().GetFields()["status"].GetStructValue().GetFields()["n"].GetNumberValue()
	return fmt.Sprintf(`{"desired": {"composite": {"resource": {"status": {"n": %v}}}}}`, min(n+1, 4))
}

func boltJSON(name, spec string) string {
	return fmt.Sprintf(`%q: {"ready": "READY_TRUE", "resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt", "spec": %s}}`, name, spec)
}

func isReady(observed *fnv1.State, name string) bool {
	conditions := observed.GetResources()[name].GetResource().GetFields()["status"].GetStructValue().GetFields()["conditions"]
	for _, c := range conditions.GetListValue().GetValues() {
		if f := c.GetStructValue().GetFields(); f["type"].GetStringValue() == "Ready" && f["status"].GetStringValue() == "True" {
			return true
		}
	}
	return false
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func passObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := e2e.Must(manifest.Document{Path: "test", Line: 1, Text: []byte(text)}.Object())(t)
	return &unstructured.Unstructured{Object: obj}
}

func parsedFixtures(t testing.TB, list string) []session.Fixture {
	t.Helper()
	text := "apiVersion: xfn.dev/v1alpha1\nkind: ObserveFixtures\nfixtures:\n" + list + "\n"
	return e2e.Must(session.ParseFixtures([]manifest.Document{{Path: "f.yaml", Line: 1, Text: []byte(text)}}))(t)
}

const passXR = `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, labels: {mine: "1"}}, spec: {size: 3}}`

func passRequest(t testing.TB, profile render.Profile) render.Request {
	return render.Request{
		Profile: profile,
		XR:      passObject(t, passXR),
		Composition: &apiextv1.Composition{
			ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
			Spec: apiextv1.CompositionSpec{Pipeline: []apiextv1.PipelineStep{
				{Step: "make", FunctionRef: apiextv1.FunctionReference{Name: "f"}},
			}},
		},
	}
}

func composedNames(docs []map[string]any) string {
	var all []string
	for _, doc := range docs {
		all = append(all, (&unstructured.Unstructured{Object: doc}).GetAnnotations()[reconciler.AnnotationResourceName])
	}
	return strings.Join(all, " ")
}

func TestRenderPasses(t *testing.T) {
	const ready = "- {match: {apiVersion: parts.gold.test/v1, kind: Bolt}, ready: true}\n"
	type want struct {
		Passes   int
		Settled  bool
		Composed string
		Changing []string
		Unused   []string
	}
	oscillates := []string{
		`composite resource: status.even`,
		`resource "a": spec.list[1][flag.x]`,
		`resource "a": spec.size`,
		`resource "b"`,
	}
	cases := map[string]struct {
		reason   string
		pipeline passPipeline
		passes   int
		fixtures string
		want     want
	}{
		"Sequence": {
			"each resource is added one pass after the previous resource, and a last pass confirms the end",
			sequencer, 10, ready,
			want{4, true, "a b c", nil, nil},
		},
		"SequenceWaits": {
			"without a fixture no resource is ready",
			sequencer, 10, "",
			want{2, true, "a", nil, nil},
		},
		"SequenceHalted": {
			"a fixture can set ready to false",
			sequencer, 10, ready + "- {match: {resource: b}, ready: false}\n",
			want{3, true, "a b", nil, nil},
		},
		"SequenceCut": {
			"the last allowed pass changed the output",
			sequencer, 3, ready,
			want{3, false, "a b c", []string{`resource "c"`}, nil},
		},
		"From": {
			"the loop waits for a fixture with a later pass, although nothing changes until then",
			sequencer, 10, "- {match: {resource: a}, from: 4, ready: true}\n",
			want{6, true, "a b", nil, nil},
		},
		"FromIsNotReached": {
			"a fixture that applies after the last pass is unused",
			sequencer, 4, "- {match: {resource: a}, from: 4, ready: true}\n",
			want{4, true, "a", nil, []string{`f.yaml:4: resource "a"`}},
		},
		"FromIsReached": {
			"a fixture is observed in the pass after the pass that it names",
			sequencer, 5, "- {match: {resource: a}, from: 4, ready: true}\n",
			want{5, false, "a b", []string{`resource "b"`}, nil},
		},
		"Unused": {
			"fixtures that match nothing are unused, and have a position",
			sequencer, 10,
			"- {match: {resource: z}, ready: true}\n- {match: {apiVersion: parts.gold.test/v2, kind: Bolt, name: other}, ready: true}\n",
			want{2, true, "a", nil, []string{`f.yaml:4: resource "z"`, `f.yaml:5: parts.gold.test/v2 Bolt other`}},
		},
		"Copy":      {"a status needs one pass to change and one to settle", copier, 10, "- {match: {resource: a}, status: {arn: x}}\n", want{3, true, "a", nil, nil}},
		"Oscillate": {"fields that keep changing are reported", oscillator, 5, "", want{5, false, "a", oscillates, nil}},
		"Count":     {"the XR's own status is observed", counter, 10, "", want{5, true, "", nil, nil}},
		"Once":      {"a single pass does not settle", sequencer, 1, ready, want{1, false, "a", nil, []string{`f.yaml:4: parts.gold.test/v1 Bolt`}}},
		"NoPasses":  {"at least one pass is made", sequencer, 0, "", want{1, false, "a", nil, nil}},
	}
	for name, tc := range cases {
		for _, profile := range passProfiles {
			t.Run(name+"/"+string(profile), func(t *testing.T) {
				got, err := session.RenderPasses(t.Context(), passRunner(t, tc.pipeline), passRequest(t, profile),
					tc.passes, parsedFixtures(t, tc.fixtures))
				e2e.NoError(t, err)
				wanted := tc.want
				if wanted.Changing != nil && profile == render.V2 {
					// In V2 the references in the XR change with the resources.
					wanted.Changing = slices.Concat([]string{"composite resource: spec.crossplane.resourceRefs"}, wanted.Changing)
				}
				is := want{got.Passes, got.Settled, composedNames(got.Composed), got.Changing, got.Unused}
				e2e.Equal(t, tc.reason, wanted, is)
			})
		}
	}
}

func TestFixturesExample(t *testing.T) {
	docs := e2e.Must(manifestOf("testdata/fixtures.yaml"))(t)
	fs := e2e.Must(session.ParseFixtures(docs))(t)
	bucket := func(observed *fnv1.State, _ int) string {
		desired := `"bucket": {"resource": {"apiVersion": "s3.aws.m.upbound.io/v1beta1", "kind": "Bucket"}}`
		if isReady(observed, "bucket") {
			f := observed.GetResources()["bucket"].GetResource().AsMap()
			arn, _, _ := unstructured.NestedString(f, "status", "arn")
			id, _, _ := unstructured.NestedString(f, "metadata", "annotations", "crossplane.io/external-name")
			desired += fmt.Sprintf(`, "policy": {"resource": {"apiVersion": "s3.aws.m.upbound.io/v1beta1", "kind": "BucketPolicy", "spec": {"of": "%s %s"}}}`, arn, id)
		}
		return `{"desired": {"resources": {` + desired + `}}}`
	}
	got := e2e.Must(session.RenderPasses(t.Context(), passRunner(t, bucket), passRequest(t, render.V2), 9, fs))(t)
	if got.Passes != 4 || !got.Settled || got.Unused != nil || len(got.Composed) != 2 {
		t.Fatalf("got %d passes, settled %t, unused %v, composed %v", got.Passes, got.Settled, got.Unused, got.Composed)
	}
	if of, _, _ := unstructured.NestedString(got.Composed[1], "spec", "of"); of != "arn:aws:s3:::bucket bucket" {
		t.Errorf("the policy is of %q", of)
	}
}

// TestPassErrors: an error contains the number of the pass and wraps the original error.
func TestPassErrors(t *testing.T) {
	failing := func(_ *fnv1.State, call int) string {
		if call == 2 {
			return `{"results": [{"severity": "SEVERITY_FATAL", "message": "it broke"}]}`
		}
		return "{}"
	}
	for _, profile := range passProfiles {
		_, err := session.RenderPasses(t.Context(), passRunner(t, failing), passRequest(t, profile), 3, nil)
		if !errors.As(err, new(*render.FatalError)) || err.Error() != `rendering pass 2: pipeline step "make" returned a fatal result: it broke` {
			t.Errorf("%s: got %v", profile, err)
		}
	}
	req := passRequest(t, render.Classic)
	req.Full = true
	delete(req.XR.Object, "spec")
	e2e.ErrorIs(t, "a resource without a spec is an error", e2e.Err(session.RenderPasses(t.Context(), passRunner(t, sequencer), req, 3, nil)), render.ErrNoSpec)
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := func(observed *fnv1.State, call int) string { cancel(); return oscillator(observed, call) }
	e2e.ErrorIs(t, "canceling ends the passes", e2e.Err(session.RenderPasses(ctx, passRunner(t, cancelling), passRequest(t, render.V2), 1<<30, nil)), context.Canceled)
}

// TestPassesFull: with Request.Full, the XR has its own fields and the status of the
// last pass. No further function calls are made.
func TestPassesFull(t *testing.T) {
	calls := 0
	forgetful := func(_ *fnv1.State, call int) string {
		calls = call
		if call == 1 {
			return `{"desired": {"composite": {"resource": {"status": {"early": 1}}}}}`
		}
		return `{"desired": {"composite": {"resource": {"status": {"late": 1}}}}}`
	}
	for _, profile := range passProfiles {
		req := passRequest(t, profile)
		req.Full = true
		got := e2e.Must(session.RenderPasses(t.Context(), passRunner(t, forgetful), req, 9, nil))(t)
		_, early, _ := unstructured.NestedFieldNoCopy(got.XR, "status", "early")
		_, late, _ := unstructured.NestedFieldNoCopy(got.XR, "status", "late")
		size, _, _ := unstructured.NestedFieldNoCopy(got.XR, "spec", "size")
		if early || !late || size != int64(3) || !got.Settled || got.Passes != 3 || calls != 3 {
			t.Errorf("%s: got %v in %d passes and %d calls", profile, got.XR, got.Passes, calls)
		}
	}
}

// TestPassesKeepInput renders the same request twice. The outputs must be
// equal, and the request unchanged.
func TestPassesKeepInput(t *testing.T) {
	const list = "- {match: {resource: a}, metadata: {annotations: {x: z}}, status: {conditions: [{type: Synced, status: 'True'}], m: {b: 2}}, ready: true}\n" +
		"- {match: {resource: a}, status: {m: {c: 3}}, ready: false}\n- {match: {resource: a}, from: 2, ready: true}\n"
	for _, profile := range passProfiles {
		state := func() (render.Request, []session.Fixture) {
			req := passRequest(t, profile)
			req.Observed = []*unstructured.Unstructured{
				passObject(t, `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {name: mine, annotations: {crossplane.io/composition-resource-name: a}}, status: {m: {a: 1}, conditions: [{type: Ready, status: Unknown}]}}`),
				passObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {crossplane.io/composition-resource-name: s}}}`),
			}
			req.Required = append(make(reconciler.Store, 0, 2), passObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`))
			return req, parsedFixtures(t, list)
		}
		req, fs := state()
		var outputs [2]string
		for i := range outputs {
			r := e2e.Must(session.RenderPasses(t.Context(), passRunner(t, sequencer), req, 9, fs))(t)
			outputs[i] = asJSON(r)
		}
		e2e.Equal(t, string(profile)+": two runs differ", outputs[0], outputs[1])
		wantReq, wantFixtures := state()
		e2e.Equal(t, string(profile)+": the input was changed", asJSON(wantReq), asJSON(req))
		e2e.Equal(t, string(profile)+": the fixtures were changed", wantFixtures, fs)
		if extra := req.Required[:2][1]; extra != nil {
			t.Errorf("%s: %v was written behind the required resources", profile, extra)
		}
	}
}

// TestReadySince: ReadySince is the first pass after which the composite
// resource stayed ready.
func TestReadySince(t *testing.T) {
	cases := map[string]struct {
		reason string
		ready  []bool
		want   int
	}{
		"Once":  {"the XR can be ready in the first pass", []bool{true, true, true, true}, 1},
		"Later": {"the XR can become ready later", []bool{false, false, true, true}, 3},
		"Again": {"readiness that was lost in between does not count", []bool{true, false, true, true}, 3},
		"Never": {"readiness that was lost in the last pass does not count", []bool{true, true, true, false}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			thing := func(_ *fnv1.State, call int) string {
				ready := "READY_FALSE"
				if tc.ready[call-1] {
					ready = "READY_TRUE"
				}
				return fmt.Sprintf(`{"desired": {"resources": {"a": {"ready": %q, "resource": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"call": "%d"}}}}}}`, ready, call)
			}
			got := e2e.Must(session.RenderPasses(t.Context(), passRunner(t, thing), passRequest(t, render.V2), len(tc.ready), nil))(t)
			e2e.Equal(t, tc.reason, len(tc.ready), got.Passes)
			e2e.Equal(t, tc.reason, tc.want, got.ReadySince)
		})
	}
}
