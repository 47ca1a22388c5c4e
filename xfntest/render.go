package xfntest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/render"
)

// A Case is the input of a render. Paths name YAML files, relative to the working
// directory, which go test sets to the folder of the test. If a file has several
// objects, XR, Composition and XRD use the first object.
type Case struct {
	// XR is the path of the composite resource.
	XR string
	// Composition is the path of the Composition. An unknown field, which an API server
	// would drop, is an error.
	Composition string
	// Functions are the functions under test, by the name in the functionRef of
	// their step. Calls get a copy of the request, as over gRPC.
	Functions map[string]fnv1.FunctionRunnerServiceServer

	// XRD is the path of the CompositeResourceDefinition, whose defaults are applied to
	// the XR. An XR that an API server would refuse is an error. Empty applies no defaults,
	// and validates nothing.
	XRD string
	// Observed are paths of files or folders with the composed resources that exist. The
	// annotation crossplane.io/composition-resource-name has their name in the pipeline.
	Observed []string
	// Required are paths of files or folders with the cluster's resources that functions
	// may require. Credentials are paths of files or folders with the Secrets that steps
	// refer to.
	Required, Credentials []string
	// Context is the context in the first function's request. Its values
	// are of types that structpb.NewStruct supports.
	Context map[string]any
	// Profile is the version of Crossplane to imitate. Empty is render.V2.
	Profile render.Profile
}

// Render runs a Case, and fails the test if it cannot be rendered, or if a
// function returns a FATAL result.
func Render(t testing.TB, c Case) *Result {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatalf("rendering composite resource %q: %v", c.XR, err)
	}
	return r
}

// Run runs a Case. A FATAL result is a *render.FatalError, which errors.As finds.
func Run(ctx context.Context, c Case) (*Result, error) {
	req, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	mux, err := c.functions(req)
	if err != nil {
		return nil, err
	}
	results := map[string][]*fnv1.Result{}
	r, err := render.Render(ctx, record(mux, results), req)
	if err != nil {
		return nil, err
	}
	return newResult(r, results)
}

// load returns the request for the files of the case. Paths are relative to the working directory.
func (c Case) load(ctx context.Context) (req render.Request, err error) {
	version, err := reconciler.VersionOf(string(c.Profile))
	if err != nil {
		return req, err
	}
	req = render.Request{Profile: c.Profile, Full: true}
	var xr manifest.Document
	if req.XR, xr, err = first(ctx, c.XR); err != nil {
		return req, fmt.Errorf("loading the composite resource: %w", err)
	}
	_, doc, err := first(ctx, c.Composition)
	if err != nil {
		return req, fmt.Errorf("loading the Composition: %w", err)
	}
	entry, err := composition.Decode(doc)
	if err != nil {
		return req, fmt.Errorf("loading the Composition: %w", err)
	}
	for _, p := range composition.Check(entry, nil) {
		if p.Kind == composition.UnknownField || slices.Contains(version.Refuse, p.Kind) {
			err = errors.Join(err, p)
		}
	}
	if err != nil {
		return req, fmt.Errorf("loading the Composition: %w", err)
	}
	req.Composition = entry.Composition
	if version.Match {
		if err := composition.Match(req.Composition, req.XR, version.Selector...); err != nil {
			return req, err
		}
	}
	if err := c.applyXRD(ctx, xr, &req); err != nil {
		return req, fmt.Errorf("applying the XRD %q: %w", c.XRD, err)
	}
	for _, l := range []struct {
		what  string
		paths []string
		into  *[]*unstructured.Unstructured
	}{
		{"observed resources", c.Observed, &req.Observed},
		{"required resources", c.Required, &req.Required},
		{"credentials", c.Credentials, &req.Credentials},
	} {
		if *l.into, err = all(ctx, l.paths); err != nil {
			return req, fmt.Errorf("loading %s: %w", l.what, err)
		}
	}
	if err := reconciler.Store(req.Required).Check(); err != nil {
		return req, fmt.Errorf("loading required resources: %w", err)
	}
	if c.Context != nil {
		if req.Context, err = structpb.NewStruct(c.Context); err != nil {
			return req, fmt.Errorf("encoding the context: %w", err)
		}
	}
	return req, nil
}

// applyXRD validates the XR in doc, and completes the request by the XRD.
func (c Case) applyXRD(ctx context.Context, doc manifest.Document, req *render.Request) error {
	if c.XRD == "" {
		return nil
	}
	obj, definition, err := first(ctx, c.XRD)
	if err != nil {
		return err
	}
	xrd, err := schema.NewXRD(obj.Object)
	if err != nil {
		return err
	}
	if err := xrd.Defines(req.XR.GroupVersionKind()); err != nil {
		return err
	}
	crds, err := crd.All(obj.Object)
	if err != nil {
		return err
	}
	all := make([]validate.Definition, len(crds))
	for i, o := range crds {
		all[i] = validate.Definition{Object: o, Path: definition.Path, Line: definition.Line}
	}
	for _, r := range validate.New(all, validate.Options{Namespace: validate.DefaultNamespace}).Document(ctx, doc) {
		err = errors.Join(err, errors.Join(r.Refusals("")...))
	}
	if err != nil {
		return err
	}
	req.Legacy, req.ConnectionSecretKeys = xrd.Legacy(), xrd.ConnectionSecretKeys()
	return xrd.Default(req.XR)
}

// functions returns a runner for each function of the pipeline.
func (c Case) functions(req render.Request) (function.Mux, error) {
	mux := function.Mux{}
	for _, step := range req.Composition.Spec.Pipeline {
		name := step.FunctionRef.Name
		b, ok := builtin.Named(strings.TrimPrefix(name, "crossplane-contrib-"))
		switch fn := c.Functions[name]; {
		case mux[name] != nil:
		case fn != nil:
			mux[name] = runner(fn)
		case ok:
			mux[name] = b.New(builtin.Options{})
		default:
			return nil, fmt.Errorf("step %q calls function %q, which is neither in Case.Functions nor a function of this package", step.Step, name)
		}
	}
	return mux, nil
}

// runner returns a Runner that calls fn. As over gRPC, request and response are copied,
// so that the caller and fn do not see each other's later changes.
func runner(fn fnv1.FunctionRunnerServiceServer) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := fn.RunFunction(ctx, proto.CloneOf(req))
		if err != nil {
			return nil, err
		}
		return proto.CloneOf(rsp), nil
	})
}

// record returns a Runner that stores the results of each step in into. The last call of
// a step counts, because a function that requires resources is called again with them.
func record(r function.Runner, into map[string][]*fnv1.Result) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := r.RunFunction(ctx, name, req)
		into[function.Step(ctx)] = rsp.GetResults()
		return rsp, err
	})
}

func reader() manifest.Reader { return manifest.Reader{FS: afero.NewOsFs()} }

func first(ctx context.Context, path string) (*unstructured.Unstructured, manifest.Document, error) {
	obj, doc, err := reader().FirstObject(ctx, path)
	return &unstructured.Unstructured{Object: obj}, doc, err
}

func all(ctx context.Context, paths []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		docs, err := reader().All(ctx, path)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			obj, err := doc.Object()
			if err != nil {
				return nil, err
			}
			objects = append(objects, &unstructured.Unstructured{Object: obj})
		}
	}
	return objects, nil
}
