package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/render"
)

// answer returns a Runner that always returns the same response.
func answer(rsp *fnv1.RunFunctionResponse) function.Runner {
	return function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return rsp, nil
	})
}

func response(t testing.TB, text string) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp := &fnv1.RunFunctionResponse{}
	e2e.NoError(t, protojson.Unmarshal([]byte(text), rsp))
	return rsp
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: e2e.Object(t, text)}
}

func pipeline(steps ...apiextv1.PipelineStep) *apiextv1.Composition {
	return &apiextv1.Composition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Spec:       apiextv1.CompositionSpec{Pipeline: steps},
	}
}

func step(name string) apiextv1.PipelineStep {
	return apiextv1.PipelineStep{Step: name, FunctionRef: apiextv1.FunctionReference{Name: "f"}}
}

const xr = `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {size: 3}}`

func request(t testing.TB, profile render.Profile, xr string) render.Request {
	return render.Request{
		Profile: profile,
		XR:      object(t, xr), Composition: pipeline(step("make")),
	}
}

var profiles = []render.Profile{render.V2, render.Classic}

// TestComposed covers details that the golden cases do not.
func TestComposed(t *testing.T) {
	const bolt = `"apiVersion": "parts.gold.test/v1", "kind": "Bolt"`
	cases := map[string]struct {
		reason, xr, desired string
		path                []string
		want                map[render.Profile]any
	}{
		"PrefixCutAtDash": {
			"a name prefix that is cut at a dash gets no second dash",
			`{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: ` + strings.Repeat("a", 50) + `-bcd, uid: u}}`,
			`{` + bolt + `}`,
			[]string{"metadata", "name"},
			map[render.Profile]any{render.V2: strings.Repeat("a", 50) + "-ddd698fba5c7", render.Classic: nil},
		},
		"OwnerReplaced": {
			"an owner reference that the function sets is not duplicated",
			`{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, uid: u}}`,
			`{` + bolt + `, "metadata": {"name": "x", "ownerReferences": [{"apiVersion": "a/v1", "kind": "K", "name": "n", "uid": "u"}]}}`,
			[]string{"metadata", "ownerReferences"},
			map[render.Profile]any{render.V2: owners("u"), render.Classic: owners("u")},
		},
		"StatusWithoutConditions": {
			"the V2 profile adds an empty field conditions to a status",
			xr, `{` + bolt + `, "metadata": {"name": "x"}, "status": {"a": 1}}`,
			[]string{"status"},
			map[render.Profile]any{render.V2: map[string]any{"a": 1.0, "conditions": nil}, render.Classic: map[string]any{"a": 1.0}},
		},
		"StatusConditions": {
			"the V2 profile drops unknown fields of conditions and sets the fixed time",
			xr, `{` + bolt + `, "metadata": {"name": "x"}, "status": {"conditions": [{"type": "A", "status": "True", "extra": 1, "observedGeneration": 2}, null]}}`,
			[]string{"status", "conditions"},
			map[render.Profile]any{
				render.V2: []any{
					map[string]any{"type": "A", "status": "True", "reason": "", "lastTransitionTime": reconciler.Time, "observedGeneration": 2.0},
					map[string]any{"type": "", "status": "", "reason": "", "lastTransitionTime": reconciler.Time},
				},
				render.Classic: []any{map[string]any{"type": "A", "status": "True", "extra": 1.0, "observedGeneration": 2.0}, nil},
			},
		},
		"StatusUndecodable": {
			"conditions stay as they are if one of them cannot be decoded",
			xr, `{` + bolt + `, "metadata": {"name": "x"}, "status": {"conditions": [{"type": "A", "extra": 1}, {"lastTransitionTime": "today"}]}}`,
			[]string{"status", "conditions"},
			map[render.Profile]any{
				render.V2:      []any{map[string]any{"type": "A", "extra": 1.0}, map[string]any{"lastTransitionTime": "today"}},
				render.Classic: []any{map[string]any{"type": "A", "extra": 1.0}, map[string]any{"lastTransitionTime": "today"}},
			},
		},
		"StatusOtherConditions": {
			"conditions that are not a list stay as they are",
			xr, `{` + bolt + `, "metadata": {"name": "x"}, "status": {"conditions": "x"}}`,
			[]string{"status", "conditions"},
			map[render.Profile]any{render.V2: "x", render.Classic: "x"},
		},
		"OneClaimLabel": {
			"a claim label is not copied without the other one",
			`{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, labels: {crossplane.io/claim-name: c}}}`,
			`{` + bolt + `}`,
			[]string{"metadata", "labels"},
			map[render.Profile]any{render.V2: map[string]any{"crossplane.io/composite": "alpha"}, render.Classic: map[string]any{"crossplane.io/composite": "alpha"}},
		},
	}
	for name, tc := range cases {
		for _, profile := range profiles {
			t.Run(name+"/"+string(profile), func(t *testing.T) {
				rsp := response(t, `{"desired": {"resources": {"one": {"resource": `+tc.desired+`}}}}`)
				r := e2e.Must(render.Render(t.Context(), answer(rsp), request(t, profile, tc.xr)))(t)
				got, _, _ := unstructured.NestedFieldNoCopy(r.Composed[0], tc.path...)
				e2e.Equal(t, tc.reason, plain(t, tc.want[profile]), plain(t, got))
			})
		}
	}
}

func owners(uid string) any {
	return []any{map[string]any{"apiVersion": "gold.test/v1", "blockOwnerDeletion": true, "controller": true, "kind": "XWidget", "name": "alpha", "uid": uid}}
}

// plain converts values of different Go types to comparable values.
func plain(t *testing.T, v any) any {
	t.Helper()
	b := e2e.Must(json.Marshal(v))(t)
	var p any
	e2e.NoError(t, json.Unmarshal(b, &p))
	return p
}

func TestReconcilerRefuses(t *testing.T) {
	cases := map[string]struct {
		reason, xr, desired, want string
		classic                   bool
	}{
		"Controller": {
			"a resource with another controller cannot be adopted", xr,
			`{"metadata": {"name": "x", "ownerReferences": [{"apiVersion": "a/v1", "kind": "K", "name": "n", "uid": "u", "controller": true}]}}`,
			`composing resource "one": already controlled by K "n"`, true,
		},
		"Name":   {"an invalid name is an error", xr, `{"metadata": {"name": "A_b"}}`, `composing resource "one": the name "A_b" is not a valid RFC 1123 subdomain`, false},
		"NoName": {"an XR without a name is an error", `{apiVersion: gold.test/v1, kind: XWidget}`, `{"metadata": {"name": "x"}}`, "neither a name nor the label", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := response(t, `{"desired": {"resources": {"one": {"resource": `+tc.desired+`}}}}`)
			_, err := render.Render(t.Context(), answer(rsp), request(t, render.V2, tc.xr))
			e2e.ErrorHas(t, tc.reason, err, tc.want)
			_, err = render.Render(t.Context(), answer(rsp), request(t, render.Classic, tc.xr))
			e2e.Equal(t, tc.reason+": classic", tc.classic, err != nil)
		})
	}
}

func TestRBACNamesMayHaveColons(t *testing.T) {
	rsp := response(t, `{"desired": {"resources": {"one": {"resource": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "plant:reader"}}}}}}`)
	e2e.NoError(t, e2e.Err(render.Render(t.Context(), answer(rsp), request(t, render.V2, xr))))
}

// TestNoExtraResources checks that a function is called once if extra resources are switched off,
// whatever it requires.
func TestNoExtraResources(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		calls := 0
		run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			calls++
			return response(t, `{"requirements": {"extraResources": {"a": {"apiVersion": "v1", "kind": "ConfigMap", "matchName": "a"}}}}`), nil
		})
		req := request(t, render.V1_20, xr)
		req.NoExtraResources = off
		e2e.NoError(t, e2e.Err(render.Render(t.Context(), run, req)))
		e2e.Equal(t, fmt.Sprintf("extra resources off is %v: calls", off), map[bool]int{false: 2, true: 1}[off], calls)
	}
}

func conditions(xr map[string]any) []string {
	list, _, _ := unstructured.NestedSlice(xr, "status", "conditions")
	var out []string
	for _, c := range list {
		m := c.(map[string]any)
		out = append(out, fmt.Sprint(m["type"], " ", m["status"], " ", m["reason"]))
	}
	return out
}

func TestFatalEndsThePipeline(t *testing.T) {
	calls := 0
	run := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		calls++
		return response(t, `{"results": [{"severity": "SEVERITY_FATAL", "message": "it broke"}]}`), nil
	})
	for _, profile := range profiles {
		calls = 0
		req := request(t, profile, xr)
		req.Composition = pipeline(step("one"), step("two"))
		_, err := render.Render(t.Context(), run, req)
		var fe *render.FatalError
		if !errors.As(err, &fe) || fe.Step != "one" || fe.Message != "it broke" || calls != 1 {
			t.Errorf("%s: got %v after %d calls", profile, err, calls)
		}
	}
}

func TestConnectionSecretKeys(t *testing.T) {
	run := answer(response(t, `{"desired": {"composite": {"connectionDetails": {"user": "dQ==", "password": "cA=="}}}}`))
	for _, tc := range []struct {
		reason string
		keys   []string
		want   map[string]any
	}{
		{"without keys, all details are published", nil, map[string]any{"user": "dQ==", "password": "cA=="}},
		{"with keys, only the details with these keys are published", []string{"user", "host"}, map[string]any{"user": "dQ=="}},
	} {
		for _, profile := range profiles {
			req := request(t, profile, xr)
			req.ConnectionSecretKeys = tc.keys
			r := e2e.Must(render.Render(t.Context(), run, req))(t)
			e2e.Equal(t, fmt.Sprintf("%s: %s", profile, tc.reason), tc.want, r.ConnectionDetails["data"])
		}
	}
}

func TestErrorsNameTheStep(t *testing.T) {
	run := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return nil, errors.New("machine on fire")
	})
	for _, profile := range profiles {
		_, err := render.Render(t.Context(), run, request(t, profile, xr))
		e2e.Equal(t, fmt.Sprintf("%s: the error names the step", profile), `running pipeline step "make": machine on fire`, fmt.Sprint(err))
	}
	bad := request(t, render.V2, xr)
	bad.Composition.Spec.Pipeline[0].Input = &runtime.RawExtension{Raw: []byte("[]")}
	e2e.ErrorHas(t, "an invalid input is an error of its step", e2e.Err(render.Render(t.Context(), run, bad)), `running pipeline step "make": reading its input`)
	e2e.Equal(t, "an unknown profile is an error", `unknown profile "v9"`, fmt.Sprint(e2e.Err(render.Render(t.Context(), run, request(t, "v9", xr)))))
}

// TestInputIsNotChanged renders a request three times and checks that the
// output is the same and the request does not change.
func TestInputIsNotChanged(t *testing.T) {
	rsp := response(t, `{"desired": {
		"composite": {"resource": {"status": {"a": {"b": 1}, "conditions": [{"type": "C", "status": "True"}]}}},
		"resources": {"one": {"resource": {"kind": "K", "status": {"conditions": []}}}, "two": {"ready": "READY_TRUE"}}},
		"context": {"k": "v"}, "conditions": [{"type": "Custom", "status": "STATUS_CONDITION_TRUE", "reason": "R"}]}`)
	for _, profile := range profiles {
		req := request(t, profile, xr)
		req.Full = true
		req.Observed = []*unstructured.Unstructured{object(t, `{kind: K, metadata: {name: kept, annotations: {crossplane.io/composition-resource-name: one}}}`)}
		xrBefore, observedBefore, rspBefore := req.XR.DeepCopy(), req.Observed[0].DeepCopy(), proto.CloneOf(rsp)
		var outputs []string
		for range 3 {
			r := e2e.Must(render.Render(t.Context(), answer(rsp), req))(t)
			var b bytes.Buffer
			e2e.NoError(t, manifest.Write(&b, r.Documents(render.Include{Results: true, Context: true, ConnectionDetails: true})...))
			outputs = append(outputs, b.String())
		}
		e2e.Equal(t, string(profile)+": the output differs from run to run", 1, len(slices.Compact(outputs)))
		if !cmp.Equal(xrBefore, req.XR) || !cmp.Equal(observedBefore, req.Observed[0]) || !proto.Equal(rspBefore, rsp) {
			t.Errorf("%s: the input was changed", profile)
		}
	}
}

// FuzzRender checks that any response of a function gives a result or an error.
func FuzzRender(f *testing.F) {
	seed := func(text string) {
		b := e2e.Must(proto.Marshal(response(f, text)))(f)
		f.Add(b, xr)
	}
	seed(`{"desired": {"composite": {"resource": {"status": {"conditions": 5}}}, "resources": {"one": {"resource": {"metadata": 5, "status": {"conditions": {}}}}}}}`)
	seed(`{"desired": {"resources": {"": {"resource": {"metadata": {"labels": [], "annotations": "x", "ownerReferences": [1, {"uid": 5}]}}}}}}`)
	seed(`{"results": [{}], "conditions": [{"type": "Ready"}], "context": {"a": null}}`)
	f.Fuzz(func(t *testing.T, data []byte, xrText string) {
		rsp := &fnv1.RunFunctionResponse{}
		if proto.Unmarshal(data, rsp) != nil {
			return
		}
		obj, err := manifest.Document{Path: "xr", Line: 1, Text: []byte(xrText)}.Object()
		if err != nil {
			return
		}
		for _, profile := range profiles {
			_, _ = render.Render(t.Context(), answer(rsp), render.Request{
				Profile: profile,
				Context: &structpb.Struct{},
				XR:      &unstructured.Unstructured{Object: obj}, Composition: pipeline(step("s")),
			})
		}
	})
}

func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{10, 1000} {
		rsp := &fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{}}}
		for i := range n {
			rsp.Desired.Resources[fmt.Sprintf("r%d", i)] = response(b, `{"desired": {"resources": {"x": {"ready": "READY_TRUE", "resource": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}}}}}`).GetDesired().GetResources()["x"]
		}
		for _, profile := range profiles {
			b.Run(fmt.Sprintf("%s/%d", profile, n), func(b *testing.B) {
				req := request(b, profile, xr)
				for b.Loop() {
					e2e.NoError(b, e2e.Err(render.Render(b.Context(), answer(rsp), req)))
				}
			})
		}
	}
}

func TestForCrossplane(t *testing.T) {
	for version, want := range map[string]render.Profile{
		"v2.3": render.V2, "v2.2.1": render.Classic, "1.15": render.V1_20, "v1.14": render.V1_14,
		"v1.13.2": render.Alpha, "v1.11": render.Alpha, "v1.10": "",
		"v2.9": render.V2, "v1.20.99": render.V1_20, "v1.21": "", "v3.0": "", "9.9": "",
	} {
		got, err := render.ForCrossplane(version)
		e2e.Equal(t, "Crossplane "+version+" has its profile", want, got)
		e2e.Equal(t, "an unsupported version is an error: "+version, want == "", err != nil)
	}
}

func TestAlphaCannotBeCalled(t *testing.T) {
	e2e.Error(t, "the functions of the profile Alpha were called", e2e.Err(render.Render(t.Context(), answer(nil), request(t, render.Alpha, xr))))
}

func TestRequestWithoutInput(t *testing.T) {
	full := request(t, render.V2, xr)
	for reason, req := range map[string]render.Request{
		"a request without a composite resource is an error": {Composition: full.Composition},
		"a request without a Composition is an error":        {XR: full.XR},
	} {
		e2e.ErrorHas(t, reason, e2e.Err(render.Render(t.Context(), answer(nil), req)), "the request has no composite resource or no Composition")
	}
	e2e.ErrorHas(t, "a nil Runner is an error", e2e.Err(render.Render(t.Context(), nil, request(t, render.V2, xr))), "the Runner is nil")
	e2e.ErrorHas(t, "a request without an Operation is an error", e2e.Err(render.RenderOperation(t.Context(), answer(nil), render.OperationRequest{})), "the request has no Operation")
}
