package render_test

import (
	"context"
	"strings"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/render"
)

// TestStore: an XR's resourceRefs and generated names are looked up among the
// required resources.
func TestStore(t *testing.T) {
	const rsp = `{"desired": {"resources": {"one": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"}}}}}`
	const (
		generated = "alpha-061746a7bcdd"
		annotated = "annotations: {crossplane.io/composition-resource-name: one}"
		owned     = "ownerReferences: [{apiVersion: v1, kind: Other, name: o, uid: u, controller: true}]"
	)
	cases := map[string]struct{ reason, refs, required, want, err string }{
		"Observed":   {"the XR refers to a required resource", "old", "name: old, " + annotated, "old", ""},
		"Missing":    {"a resource that is nowhere is not observed", "old", "name: other, " + annotated, generated, ""},
		"Controlled": {"a resource that another object controls is not observed", "old", "name: old, " + owned, generated, ""},
		"Anonymous":  {"an observed resource must have a name in the pipeline", "old", "name: old", "", "lacks the annotation"},
		"Taken":      {"a generated name that exists is generated again", "old", "name: " + generated, "alpha-9671b8d96994", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {crossplane: {resourceRefs: [{apiVersion: parts.gold.test/v1, kind: Bolt, name: `+tc.refs+`}]}}}`)
			req.Required = []*unstructured.Unstructured{object(t, `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: {`+tc.required+`}}`)}
			got, err := render.Render(t.Context(), answer(response(t, rsp)), req)
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.err)
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, (&unstructured.Unstructured{Object: got.Composed[0]}).GetName())
		})
	}
}

// TestObservedConnectionDetails checks which Secret among the required resources a function observes
// as the connection details of the XR and of a composed resource, as Crossplane v2.4.0 does.
func TestObservedConnectionDetails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason             string
		ref, xr, one       string
		legacy             bool
		wantXR, wantObject string
	}{
		"Cluster":   {"a cluster-scoped resource names the namespace", `{name: s, namespace: ns}`, `{name: alpha}`, `{name: a}`, false, "", "of ns"},
		"Legacy":    {"only a legacy XR has a connection Secret", `{name: s, namespace: ns}`, `{name: alpha}`, `{name: a}`, true, "of ns", "of ns"},
		"Own":       {"the Secret of a namespaced resource is in its own namespace", `{name: s, namespace: ns}`, `{name: alpha}`, `{name: a, namespace: team}`, false, "", "of team"},
		"Namespace": {"the reference of a namespaced resource needs no namespace", `{name: s}`, `{name: alpha, namespace: team}`, `{name: a, namespace: team}`, true, "of team", "of team"},
		"Unknown":   {"unknown fields of the reference are ignored", `{name: s, namespace: ns, x: 1}`, `{name: alpha}`, `{name: a}`, false, "", "of ns"},
		"Number":    {"a name that is a number names no Secret", `{name: 5, namespace: ns}`, `{name: alpha}`, `{name: a}`, true, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: `+tc.xr+`, spec: {writeConnectionSecretToRef: `+tc.ref+`}}`)
			req.Legacy = tc.legacy
			one := object(t, `{apiVersion: parts.gold.test/v1, kind: Bolt, metadata: `+tc.one+`, spec: {writeConnectionSecretToRef: `+tc.ref+`}}`)
			one.SetAnnotations(map[string]string{"crossplane.io/composition-resource-name": "one"})
			req.Observed = []*unstructured.Unstructured{one}
			for namespace, data := range map[string]string{"ns": "b2YgbnM=", "team": "b2YgdGVhbQ=="} {
				req.Required = append(req.Required, object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: `+namespace+`}, data: {key: `+data+`, other: null, number: 5}}`))
			}
			gotXR, gotObject := "no call", "no call"
			run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				gotXR = string(req.GetObserved().GetComposite().GetConnectionDetails()["key"])
				gotObject = string(req.GetObserved().GetResources()["one"].GetConnectionDetails()["key"])
				return &fnv1.RunFunctionResponse{}, nil
			})
			e2e.Must(render.Render(t.Context(), run, req))(t)
			e2e.Equal(t, tc.reason+": the XR", tc.wantXR, gotXR)
			e2e.Equal(t, tc.reason+": the composed resource", tc.wantObject, gotObject)
		})
	}
}

// TestRequiredKind checks which objects of three a function gets for a kind.
func TestRequiredKind(t *testing.T) {
	cases := map[string]struct {
		reason, selector string
		want             []string
	}{
		"Kind":      {"all objects of the kind are found", `"kind": "Allow"`, []string{"one", "two"}},
		"List":      {"the kind of a list means the kind of its items, as in clients of Kubernetes", `"kind": "AllowList"`, []string{"one", "two"}},
		"NamedList": {"an object with a name has exactly the kind", `"kind": "AllowList", "matchName": "three"`, []string{"three"}},
		"Suffix":    {"List alone is a kind", `"kind": "List"`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, render.V2, xr)
			for name, kind := range map[string]string{"one": "Allow", "two": "Allow", "three": "AllowList"} {
				req.Required = append(req.Required, object(t, `{apiVersion: gold.test/v1, kind: `+kind+`, metadata: {name: `+name+`}}`))
			}
			var got []string
			run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				got = nil
				for _, item := range req.GetRequiredResources()["key"].GetItems() {
					got = append(got, (&unstructured.Unstructured{Object: item.GetResource().AsMap()}).GetName())
				}
				return response(t, `{"requirements": {"resources": {"key": {"apiVersion": "gold.test/v1", `+tc.selector+`}}}}`), nil
			})
			e2e.Must(render.Render(t.Context(), run, req))(t)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestRequiredXR checks when a function that requires its own XR sees what Crossplane v2.4.0 wrote to
// the XR: only after an update of the XR.
func TestRequiredXR(t *testing.T) {
	cases := map[string]struct {
		reason, labels, namespace string
		want                      any
	}{
		"Label":  {"Crossplane updates an XR to set the label", `{}`, "", "widgets"},
		"Nested": {"Crossplane does not update an XR that has the label", `{crossplane.io/composite: root}`, "", nil},
		"Secret": {"Crossplane updates an XR whose Composition has a namespace for Secrets", `{crossplane.io/composite: root}`, "secrets", "widgets"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha, labels: `+tc.labels+`}, spec: {size: 3}}`)
			if tc.namespace != "" {
				req.Composition.Spec.WriteConnectionSecretsToNamespace = &tc.namespace
			}
			var got, observed any
			run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				name := func(r *fnv1.Resource) any {
					return fieldpath.At(r.GetResource().AsMap(), "spec", "crossplane", "compositionRef", "name")
				}
				observed = name(req.GetObserved().GetComposite())
				for _, item := range req.GetRequiredResources()["key"].GetItems() {
					got = name(item)
				}
				return response(t, `{"requirements": {"resources": {"key": {"apiVersion": "gold.test/v1", "kind": "XWidget", "matchName": "alpha"}}}}`), nil
			})
			e2e.Must(render.Render(t.Context(), run, req))(t)
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.Equal(t, "functions always observe the reference", any("widgets"), observed)
		})
	}
}

// TestRequiredRevision: functions may require the CompositionRevision. Its name and its hash are
// those that Crossplane v2.4.0 makes of the same Composition.
func TestRequiredRevision(t *testing.T) {
	t.Parallel()
	const text = `{metadata: {name: comp1}, spec: {compositeTypeRef: {apiVersion: ex.org/v1, kind: XThing}, mode: Pipeline, pipeline: [{step: a, functionRef: {name: function-literal}, input: {apiVersion: x/v1, kind: I, response: {}}, requirements: {requiredResources: [
		{requirementName: r, apiVersion: v1, kind: ConfigMap}, {requirementName: x, apiVersion: ex.org/v1, kind: XThing}, {requirementName: rev, apiVersion: apiextensions.crossplane.io/v1, kind: CompositionRevision}]}}]}}`
	const want = `{"apiVersion":"apiextensions.crossplane.io/v1","kind":"CompositionRevision","metadata":{"labels":{"crossplane.io/composition-hash":"d2265d7ebab3acb745e4f66ab239d6f00ceeb261c61faed9c64f1156e28c758","crossplane.io/composition-name":"comp1"},"name":"comp1-d2265d7","ownerReferences":[{"apiVersion":"apiextensions.crossplane.io/v1","blockOwnerDeletion":true,"controller":true,"kind":"Composition","name":"comp1","uid":""}]},` +
		`"spec":{"compositeTypeRef":{"apiVersion":"ex.org/v1","kind":"XThing"},"mode":"Pipeline","pipeline":[{"functionRef":{"name":"function-literal"},"input":{"apiVersion":"x/v1","kind":"I","response":{}},"requirements":{"requiredResources":[{"apiVersion":"v1","kind":"ConfigMap","requirementName":"r"},{"apiVersion":"ex.org/v1","kind":"XThing","requirementName":"x"},{"apiVersion":"apiextensions.crossplane.io/v1","kind":"CompositionRevision","requirementName":"rev"}]},"step":"a"}],"revision":1},` +
		`"status":{"conditions":[{"lastTransitionTime":"2024-01-01T00:00:00Z","reason":"ValidPipeline","status":"True","type":"ValidPipeline"}]}}`
	req := request(t, render.V2, `{apiVersion: ex.org/v1, kind: XThing, metadata: {name: xr1}}`)
	req.Composition = &apiextv1.Composition{}
	e2e.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), req.Composition))
	got := ""
	run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		for _, item := range req.GetRequiredResources()["rev"].GetItems() {
			got += encoded(t, item.GetResource().AsMap())
		}
		return &fnv1.RunFunctionResponse{}, nil
	})
	e2e.Must(render.Render(t.Context(), run, req))(t)
	e2e.Equal(t, "the revision is that of Crossplane", want, got)
}

// TestCompositionReference checks the reference to the Composition in the XR that functions observe.
func TestCompositionReference(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]any{"widgets": {"name": "widgets"}, "": {}} {
		req := request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}}`)
		req.Composition = req.Composition.DeepCopy()
		req.Composition.Name = name
		var got any
		run := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			got = fieldpath.At(req.GetObserved().GetComposite().GetResource().AsMap(), "spec", "crossplane", "compositionRef")
			return &fnv1.RunFunctionResponse{}, nil
		})
		_, err := render.Render(t.Context(), run, req)
		e2e.NoError(t, err)
		e2e.Equal(t, "the reference has no empty name", any(want), got)
	}
}

// TestWarnings checks the warnings about what functions cannot change.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const bolt = `"one": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"`
	for desired, want := range map[string]string{
		`"composite": {"resource": {"spec": {"size": 4}}}`:                                                                                                                                 `pipeline step "b" desires spec of the composite resource, but functions can only change its status`,
		`"composite": {"resource": {"metadata": {"labels": {"a": ""}}}}`:                                                                                                                   `pipeline step "b" desires metadata of the composite resource, but functions can only change its status`,
		`"composite": {"resource": {"spec": {"size": 3}}}`:                                                                                                                                 "",
		`"composite": {"resource": {"status": {"a": 1}}}`:                                                                                                                                  "",
		`"resources": {` + bolt + `, "status": {"a": 1}}}}`:                                                                                                                                `pipeline step "b" desires status of composed resource "one", but only its provider can set it`,
		`"composite": {"resource": {"status": {"a": ["%!s(MISSING)"]}}}`:                                                                                                                   `pipeline step "b" writes "%!s(MISSING)" to status.a[0] of the composite resource: a format prints this for a value that is missing, left over or of another type`,
		`"composite": {"resource": {"status": {"a": "100%!"}}}`:                                                                                                                            "",
		`"resources": {` + bolt + `, "spec": {"a": "x%!d(string=y)"}}}}`:                                                                                                                   `pipeline step "b" writes "%!d(string=y)" to spec.a of composed resource "one": a format prints this for a value that is missing, left over or of another type`,
		`"resources": {` + bolt + `}}, "a-%!d(string=b)": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"}}}`:                                                             `pipeline step "b" writes "%!d(string=b)" to the name of composed resource "a-%!d(string=b)": a format prints this for a value that is missing, left over or of another type`,
		`"resources": {` + bolt + `, "metadata": {"annotations": {"example": {"org/a": "b"}}}}}}`:                                                                                          `pipeline step "b" sets metadata.annotations[example] to an object, so Crossplane removes all annotations: for a name with a dot, write the path metadata.annotations[example.org/a] (composed resource "one")`,
		`"resources": {` + bolt + `, "metadata": {"labels": {"on": true, "off": "true"}}}}}`:                                                                                               `pipeline step "b" sets metadata.labels[on] to a value that is not text, so Crossplane removes all labels: write it in quotes (composed resource "one")`,
		`"resources": {` + bolt + `, "metadata": {"lables": {"a": "b"}}}}}`:                                                                                                                `pipeline step "b" sets metadata.lables, which no object has, did you mean labels? (composed resource "one")`,
		`"resources": {` + bolt + `, "metadata": {"labels": {"a": "b/c"}, "annotations": {"a": "b/c", "Example.org/a": ""}}}}}`:                                                            `pipeline step "b" sets metadata.labels[a] to "b/c", which an API server refuses: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?') (composed resource "one")`,
		`"resources": {` + bolt + `, "metadata": {"annotations": {"a b": "c"}}}}}`:                                                                                                         `pipeline step "b" sets metadata.annotations[a b] to "c", which an API server refuses: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') (composed resource "one")`,
		`"resources": {"one": {"resource": {"apiVersion": {"v1": null}, "kind": "Bolt"}}}`:                                                                                                 `resource "one" has the apiVersion {"v1":null}, which is not a text, so an API server refuses it`,
		`"resources": {"one": {"resource": {"apiVersion": "app/v1", "kind": "Deployment"}}}`:                                                                                               `resource "one" is of kind Deployment of app/v1, which no API server has, did you mean apps/v1?`,
		`"resources": {"one": {"resource": {"apiVersion": "apps/v1", "kind": "Deploymnt"}}}`:                                                                                               `resource "one" is of kind Deploymnt of apps/v1, which no API server has, did you mean Deployment?`,
		`"resources": {"one": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replica": 1}}}}`:                                                                      `resource "one" has the field spec.replica, which a Deployment of apps/v1 does not have, did you mean replicas?`,
		`"resources": {"one": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "two"}}}}`:                                                                 `resource "one" is a Deployment that an API server refuses: spec.replicas: Invalid value: "two": must be a whole number of 32 bits, not a string`,
		`"resources": {"one": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "app": "shop"}}}`:                                                                                     `resource "one" has the field app, which a ConfigMap of v1 does not have`,
		`"resources": {"one": {"resource": {"apiVersion": "v1", "kind": "Service", "spec": {"newField": 1}}}}`:                                                                             `resource "one" has the field spec.newField, which a Service of v1 does not have`,
		`"resources": {` + bolt + `, "metadata": {"name": "a"}}}, "two": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt", "metadata": {"name": "a"}}}}`:                   `resources "one" and "two" are the same object, and Crossplane applies them in a random order`,
		`"resources": {` + bolt + `, "metadata": {"name": "a"}}}, "two": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Nut", "metadata": {"name": "a"}}}}`:                    "",
		`"resources": {` + bolt + `, "metadata": {"generateName": "a-"}}}, "two": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt", "metadata": {"generateName": "a-"}}}}`: "",
		`"resources": {}`: `pipeline step "b" leaves out composed resource "one", which an earlier step desires`,

		`"resources": {` + bolt + `, "metadata": {"annotations": {"crossplane.io/external-nme": "a", "crossplane.io/paused": "true", "example.org/paused": "true"}}}}}`:                     `pipeline step "b" sets the annotation crossplane.io/external-nme, which has no effect, did you mean crossplane.io/external-name? (composed resource "one")`,
		`"resources": {"one": {"resource": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80, "targetPort": "http"}], "sessionAffinityConfig": {"clientIP": null}}}}}`: "",
	} {
		first, second := response(t, `{"desired": {"resources": {`+bolt+`}}}}}`), response(t, `{"desired": {`+desired+`}}`)
		if !strings.HasPrefix(desired, `"resources"`) {
			second.Desired.Resources = first.GetDesired().GetResources()
		}
		run := function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			if function.Step(ctx) == "a" {
				return first, nil
			}
			return second, nil
		})
		req := request(t, render.V2, xr)
		req.Composition = pipeline(step("a"), step("b"))
		r := e2e.Must(render.Render(t.Context(), run, req))(t)
		e2e.Equal(t, "only a mistake in the desired state is a warning: "+desired, want, strings.Join(r.Warnings, "\n"))
	}
}

// TestRemovers checks that there is no warning if a function whose purpose is to remove resources
// removes one.
func TestRemovers(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"sequencer.fn.crossplane.io", "cel.fn.crossplane.io"} {
		run := function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			if function.Step(ctx) == "a" {
				return response(t, `{"desired": {"resources": {"one": {"resource": {"apiVersion": "parts.gold.test/v1", "kind": "Bolt"}}}}}`), nil
			}
			return response(t, `{"desired": {}}`), nil
		})
		second := step("b")
		second.Input = &runtime.RawExtension{Raw: []byte(`{"apiVersion": "` + group + `/v1beta1", "kind": "Input"}`)}
		req := request(t, render.V2, xr)
		req.Composition = pipeline(step("a"), second)
		r := e2e.Must(render.Render(t.Context(), run, req))(t)
		if len(r.Warnings) > 0 {
			t.Errorf("%s: got %q", group, r.Warnings)
		}
	}
}

func TestEmptyReason(t *testing.T) {
	rsp := response(t, `{"results": [{"severity": "SEVERITY_NORMAL", "message": "hi", "reason": ""}]}`)
	run := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return rsp, nil
	})
	req := request(t, render.V2, `{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha}, spec: {size: 3}}`)
	req.Composition = pipeline(step("a"))
	r := e2e.Must(render.Render(t.Context(), run, req))(t)
	var b strings.Builder
	e2e.NoError(t, manifest.Write(&b, r.Documents(render.Include{Results: true})...))
	e2e.Has(t, "an empty reason counts as missing", b.String(), "message: 'Pipeline step \"a\": hi'\nreason: ComposeResources\n")
}
