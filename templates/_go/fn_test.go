package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
)

const (
	ready   = fnv1.Ready_READY_TRUE
	unready = fnv1.Ready_READY_FALSE
)

func TestRunFunction(t *testing.T) {
	const input = `{"environments": {"test": {"replicas": 2}}}`

	// want is the part of a response that a case checks.
	type want struct {
		Fatal     string
		Resources map[string]fnv1.Ready
		Status    map[string]any
		Condition fnv1.Status
	}
	cases := map[string]struct {
		reason   string
		input    string
		spec     string
		observed map[string]string
		want     want
	}{
		"First": {
			reason: "A resource that does not exist is not ready, and the URL is in the cluster.",
			input:  input,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			want: want{
				Resources: map[string]fnv1.Ready{"settings": unready, "deployment": unready, "service": unready},
				Status:    map[string]any{"url": "http://shop.storefront.svc:8080", "availableReplicas": 0.0},
				Condition: fnv1.Status_STATUS_CONDITION_FALSE,
			},
		},
		"Host": {
			reason: "An App with a host has an Ingress, and the host is in its URL.",
			input:  input,
			spec:   `{"image": "shop:1", "environment": "test", "host": "shop.example.org"}`,
			want: want{
				Resources: map[string]fnv1.Ready{"settings": unready, "deployment": unready, "service": unready, "ingress": unready},
				Status:    map[string]any{"url": "http://shop.example.org", "availableReplicas": 0.0},
				Condition: fnv1.Status_STATUS_CONDITION_FALSE,
			},
		},
		"Starting": {
			reason: "A Deployment is not ready before its condition Available is True.",
			input:  input,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			observed: map[string]string{
				"settings":   `{}`,
				"deployment": `{"status": {"availableReplicas": 1, "conditions": [{"type": "Available", "status": "False"}]}}`,
			},
			want: want{
				Resources: map[string]fnv1.Ready{"settings": ready, "deployment": unready, "service": unready},
				Status:    map[string]any{"url": "http://shop.storefront.svc:8080", "availableReplicas": 1.0},
				Condition: fnv1.Status_STATUS_CONDITION_FALSE,
			},
		},
		"Serving": {
			reason: "All resources are ready once they exist and the Deployment is available.",
			input:  input,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			observed: map[string]string{
				"settings":   `{}`,
				"deployment": `{"status": {"availableReplicas": 2, "conditions": [{"type": "Available", "status": "True"}]}}`,
				"service":    `{}`,
			},
			want: want{
				Resources: map[string]fnv1.Ready{"settings": ready, "deployment": ready, "service": ready},
				Status:    map[string]any{"url": "http://shop.storefront.svc:8080", "availableReplicas": 2.0},
				Condition: fnv1.Status_STATUS_CONDITION_TRUE,
			},
		},
		"UnknownEnvironment": {
			reason: "An environment that the input does not have is an error.",
			input:  `{"environments": {"test": {"replicas": 1}, "live": {"replicas": 3}}}`,
			spec:   `{"image": "shop:1", "environment": "moon"}`,
			want:   want{Fatal: `reading the App: spec.environment must be one of live, test, got "moon"`},
		},
		"NoInput": {
			reason: "An input without environments is an error.",
			input:  `{}`,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			want:   want{Fatal: `checking the input: environments: Required value: an App runs in one of them`},
		},
		"TypoInInput": {
			reason: "An unknown field of the input is an error.",
			input:  `{"enviroments": {"test": {"replicas": 1}}}`,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			want:   want{Fatal: `unknown name "enviroments"`},
		},
		"BadLabel": {
			reason: "A label that Kubernetes would refuse is an error that names the field.",
			input:  `{"environments": {"test": {"replicas": 1}}, "labels": {"team": "a b"}}`,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			want:   want{Fatal: `checking the input: labels: Invalid value: "a b"`},
		},
		"NoReplicas": {
			reason: "An environment without replicas is an error.",
			input:  `{"environments": {"test": {}}}`,
			spec:   `{"image": "shop:1", "environment": "test"}`,
			want:   want{Fatal: `checking the input: environments[test].replicas: Invalid value: 0: must be 1 or more`},
		},
		"SpecOfAnotherType": {
			reason: "A spec with a field of the wrong type is an error.",
			input:  input,
			spec:   `{"image": "shop:1", "environment": "test", "port": "http"}`,
			want:   want{Fatal: `reading the App: `},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, appRequest(tc.input, tc.spec, tc.observed))

			var got want
			for _, r := range rsp.GetResults() {
				if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
					got.Fatal = r.GetMessage()
				}
			}
			if tc.want.Fatal != "" {
				if !strings.Contains(got.Fatal, tc.want.Fatal) {
					t.Errorf("%s\nfatal result: got %q, want %q in it", tc.reason, got.Fatal, tc.want.Fatal)
				}
				return
			}
			for name, r := range rsp.GetDesired().GetResources() {
				if got.Resources == nil {
					got.Resources = map[string]fnv1.Ready{}
				}
				got.Resources[name] = r.GetReady()
			}
			got.Status, _ = rsp.GetDesired().GetComposite().GetResource().AsMap()["status"].(map[string]any)
			got.Condition = rsp.GetConditions()[0].GetStatus()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A function keeps the desired resources of earlier functions.
func TestKeepsDesired(t *testing.T) {
	req := appRequest(`{"environments": {"test": {"replicas": 1}}}`, `{"image": "shop:1", "environment": "test"}`, nil)
	earlier := &fnv1.Resource{Resource: resource.MustStructJSON(`{"apiVersion": "v1", "kind": "Secret"}`)}
	req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{"earlier": earlier}}

	got := run(t, req).GetDesired().GetResources()
	if diff := cmp.Diff(earlier, got["earlier"], protocmp.Transform()); diff != "" {
		t.Errorf("the earlier resource: -want, +got:\n%s", diff)
	}
	if len(got) != 4 {
		t.Errorf("desired resources: got %q, want the earlier one and three more", slices.Sorted(maps.Keys(got)))
	}
}

// The function composes this complete Deployment for the App in example/xr.yaml.
func TestExampleDeployment(t *testing.T) {
	composition := readYAML(t, "composition.yaml").GetFields()["spec"].GetStructValue()
	step := composition.GetFields()["pipeline"].GetListValue().GetValues()[0].GetStructValue()
	rsp := run(t, &fnv1.RunFunctionRequest{
		Input:    step.GetFields()["input"].GetStructValue(),
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: readYAML(t, "xr.yaml")}},
	})

	want := resource.MustStructJSON(`{
		"apiVersion": "apps/v1",
		"kind": "Deployment",
		"metadata": {
			"name": "shop",
			"labels": {"app.kubernetes.io/instance": "shop", "example.org/cost-centre": "retail"}
		},
		"spec": {
			"replicas": 3,
			"selector": {"matchLabels": {"app.kubernetes.io/instance": "shop"}},
			"template": {
				"metadata": {
					"labels": {"app.kubernetes.io/instance": "shop", "example.org/cost-centre": "retail"}
				},
				"spec": {"containers": [{
					"name": "app",
					"image": "registry.example.org/acme/shop:1.4.2",
					"ports": [{"name": "http", "containerPort": 8000}],
					"envFrom": [{"configMapRef": {"name": "shop"}}]
				}]}
			}
		}
	}`)
	got := rsp.GetDesired().GetResources()["deployment"].GetResource()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// appRequest returns the request that Crossplane sends for an App with this
// spec.
func appRequest(input, spec string, observed map[string]string) *fnv1.RunFunctionRequest {
	xr := `{"metadata": {"name": "shop", "namespace": "storefront"}, "spec": ` + spec + `}`
	req := &fnv1.RunFunctionRequest{
		Input: resource.MustStructJSON(input),
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: resource.MustStructJSON(xr)},
			Resources: map[string]*fnv1.Resource{},
		},
	}
	for name, object := range observed {
		req.Observed.Resources[name] = &fnv1.Resource{Resource: resource.MustStructJSON(object)}
	}
	return req
}

// run calls the function in this process, without a server.
func run(t *testing.T, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	f := &Function{log: logging.NewNopLogger()}
	rsp, err := f.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}

// readYAML reads a file of the example.
func readYAML(t *testing.T, name string) *structpb.Struct {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("example", name))
	if err != nil {
		t.Fatal(err)
	}
	data, err = yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	s := &structpb.Struct{}
	if err := protojson.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}
