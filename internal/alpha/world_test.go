package alpha_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// A world is the state before a reconcile. Objects are in YAML.
type world struct {
	// spec is the spec of the Composition.
	spec string
	// xr is merged into the XR of kind XStall that method composite returns.
	xr string
	// existing are the existing objects, one in each string.
	existing    []string
	environment map[string]any
	literal     bool
	// functions maps images to functions that change a FunctionIO.
	functions map[string]func(*fnio.FunctionIO)
	// raw maps images to containers. An image in raw is not looked up in functions.
	raw map[string]alpha.ContainerRunnerFunc
}

const owner = `{apiVersion: shop.gold.test/v1, kind: XStall, name: stall, uid: uid-xr, controller: true, blockOwnerDeletion: true}`

// exists returns an existing resource of kind Till that the XR controls.
func exists(name, more string) string {
	return `{apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-` + name + `, creationTimestamp: "2023-01-01T00:00:00Z", uid: uid-` + name +
		`, annotations: {crossplane.io/composition-resource-name: ` + name + `}, ownerReferences: [` + owner + `]}, ` + more + `}`
}

// composite returns the XR, with references to all existing objects except Secrets.
func (w world) composite(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	xr := e2e.Object(t, `
apiVersion: shop.gold.test/v1
kind: XStall
metadata: {name: stall, uid: uid-xr, labels: {crossplane.io/composite: stall, crossplane.io/claim-name: claim, crossplane.io/claim-namespace: market}}
spec: {slots: 4}
`)
	refs := []any{}
	for _, text := range w.existing {
		o := unstructured.Unstructured{Object: e2e.Object(t, text)}
		if o.GetKind() != "Secret" {
			refs = append(refs, map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName()})
		}
	}
	xr["spec"].(map[string]any)["resourceRefs"] = refs
	if w.xr != "" {
		overlay(xr, e2e.Object(t, w.xr))
	}
	return &unstructured.Unstructured{Object: xr}
}

func overlay(obj, over map[string]any) {
	for k, v := range over {
		fields, isObject := v.(map[string]any)
		there, ok := obj[k].(map[string]any)
		switch {
		case v == nil:
			delete(obj, k)
		case isObject && ok:
			overlay(there, fields)
		default:
			obj[k] = v
		}
	}
}

// A reconciled is the result of a reconcile of a world.
type reconciled struct {
	*alpha.Result
	err   error
	store *alpha.Store
	// requests are the requests to run containers, in order.
	requests []alpha.ContainerRequest
}

func (w world) run(t *testing.T) *reconciled {
	t.Helper()
	p := &reconciled{store: alpha.NewStore()}
	var existing []*unstructured.Unstructured
	for _, text := range w.existing {
		existing = append(existing, objects(e2e.Object(t, text))...)
	}
	p.store = alpha.NewStore(existing...)
	req := alpha.Request{XR: w.composite(t), LiteralDeletion: w.literal, Environment: w.environment}
	req.Composition, p.err = alpha.Decode(map[string]any{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "spec": e2e.Object(t, w.spec)})
	if p.err != nil {
		return p
	}
	before, environment := req.XR.DeepCopy(), maps.Clone(w.environment)
	p.Result, p.err = alpha.Run(t.Context(), req, w.runner(t, p), p.store)
	e2e.Equal(t, "the request is not changed", "", cmp.Diff(before, req.XR)+cmp.Diff(environment, w.environment))
	return p
}

func (w world) runner(t *testing.T, p *reconciled) alpha.ContainerRunner {
	return alpha.ContainerRunnerFunc(func(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
		p.requests = append(p.requests, req)
		if f, ok := w.raw[req.Image]; ok {
			return f(ctx, req)
		}
		f, ok := w.functions[req.Image]
		if !ok {
			return nil, errors.New("no such image")
		}
		io := e2e.Must(fnio.Decode(req.Input))(t)
		f(io)
		return fnio.Encode(io)
	})
}

// input returns the FunctionIO that the i-th function read.
func (p *reconciled) input(t *testing.T, i int) *fnio.FunctionIO {
	t.Helper()
	return e2e.Must(fnio.Decode(p.requests[i].Input))(t)
}

// ok fails the test if the reconcile failed.
func (p *reconciled) ok(t *testing.T) *reconciled {
	t.Helper()
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p
}

// stored returns the object in the store with this kind and name, or nil.
func (p *reconciled) stored(kind, name string) map[string]any {
	for _, o := range p.store.Objects() {
		if o.GetKind() == kind && o.GetName() == name {
			return o.Object
		}
	}
	return nil
}

// failed reports a test failure unless the error of the reconcile has the text want.
func (p *reconciled) failed(t *testing.T, reason, want string) {
	t.Helper()
	if p.err == nil || p.err.Error() != want {
		t.Errorf("%s: got error\n%v, want\n%s", reason, p.err, want)
	}
}

// echo is a function that returns its input.
func echo(*fnio.FunctionIO) {}

// desires returns a function that adds desired resources, which are given in YAML.
func desires(resources ...string) func(*fnio.FunctionIO) {
	return func(io *fnio.FunctionIO) {
		for _, text := range resources {
			var r fnio.DesiredResource
			if err := kyaml.Unmarshal([]byte(text), &r); err != nil {
				panic(err)
			}
			io.Desired.Resources = append(io.Desired.Resources, r)
		}
	}
}

// calls returns the spec of a Composition with a function for each image.
func calls(images ...string) string {
	var b strings.Builder
	b.WriteString("functions:\n")
	for _, image := range images {
		b.WriteString("- {name: " + image + ", type: Container, container: {image: " + image + "}}\n")
	}
	return b.String()
}
