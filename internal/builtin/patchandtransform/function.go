package patchandtransform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
)

// New returns the function. It caches compiled inputs. progress receives a warning for each part of an
// input that has an unexpected effect. The function composes a connection secret only if secrets is
// true: before v0.10.0, the real function does not, and writeConnectionSecretToRef is an unknown field.
func New(progress progress.Func, secrets bool) function.Runner {
	return function.RunnerFunc((&fn{progress: progress, secrets: secrets}).run)
}

type fn struct {
	progress progress.Func
	secrets  bool
	programs proc.Memo[sdk.Sum, *program]
}

func (f *fn) run(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	p, err := f.programs.Do(sdk.SumOf(req.GetInput()), func() (*program, error) {
		p, err := compile(req.GetInput(), f.secrets)
		if err == nil {
			for _, odd := range p.oddities() {
				f.progress.Warn(odd.text + manifest.At(sdk.Location{Field: odd.field, Line: 1}.Place(ctx)))
			}
		}
		return p, err
	})
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	composition.SetOrigins(ctx, func(resource, field, _ string) string { return p.locate(resource, field).Place(ctx) })
	r := newRun(req, rsp)
	err = r.run(ctx, p)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("patching and transforming: %w", context.Cause(ctx))
	}
	if err != nil {
		r.keepDetails(req)
		return sdk.Fatal(rsp, err), nil
	}
	return rsp, nil
}

// keepDetails adds the changed connection details to a fatal response. If the desired XR
// had connection details, the real function has already changed them when it fails.
func (r *run) keepDetails(req *fnv1.RunFunctionRequest) {
	before := req.GetDesired().GetComposite()
	if len(before.GetConnectionDetails()) == 0 || maps.EqualFunc(before.GetConnectionDetails(), r.details, bytes.Equal) {
		return
	}
	r.rsp.Desired = &fnv1.State{
		Composite: &fnv1.Resource{Resource: before.GetResource(), Ready: before.GetReady(), ConnectionDetails: r.details},
		Resources: req.GetDesired().GetResources(),
	}
}

// A run is the state of the function while it processes one request.
type run struct {
	req    *fnv1.RunFunctionRequest
	rsp    *fnv1.RunFunctionResponse
	budget patch.Budget

	// xr is the observed XR.
	xr *structpb.Struct
	// desired is the desired XR. Patches change it, and the environment.
	desired, environment patch.Object
	// details are the connection details of the desired XR.
	details map[string][]byte
	// composed are the composed resources of templates, by name.
	composed map[string]*composed
	observed map[string]*observed
	dropped  bool
	// coverage receives the points that run. It is nil if the coverage is not measured.
	coverage sdk.Coverage
}

type composed struct {
	fields map[string]any
	ready  fnv1.Ready
}

func newRun(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) *run {
	r := &run{
		req: req, rsp: rsp,
		xr:       req.GetObserved().GetComposite().GetResource(),
		details:  maps.Clone(req.GetDesired().GetComposite().GetConnectionDetails()),
		composed: map[string]*composed{},
		observed: map[string]*observed{},
	}
	r.desired.Fields = req.GetDesired().GetComposite().GetResource().AsMap()
	for _, key := range []string{"apiVersion", "kind"} {
		r.desired.Fields[key] = r.xr.GetFields()[key].GetStringValue()
	}
	r.environment = patch.Environment(req.GetContext().GetFields()[sdk.EnvironmentKey].GetStructValue().AsMap())
	return r
}

// run executes a program. The text of the error is the message of the fatal result.
func (r *run) run(ctx context.Context, p *program) error {
	if r.coverage = sdk.CoverageOf(ctx); r.coverage != nil {
		r.coverage.Known(p.points())
	}
	for i := range p.environment {
		if err := r.patchEnvironment(ctx, &p.environment[i]); err != nil {
			return fmt.Errorf("cannot apply the %q environment patch at index %d: %w", p.environment[i].Type, i, err)
		}
	}
	for i := range p.templates {
		if err := r.compose(ctx, &p.templates[i]); err != nil {
			return err
		}
	}
	secret, err := r.connectionSecret(p)
	if err != nil {
		return fmt.Errorf("cannot compose connection secret: %w", err)
	}
	return r.finish(secret)
}

func (r *run) patchEnvironment(ctx context.Context, p *placedPatch) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	from, to := r.environment.Fields, &r.desired
	switch p.Type {
	case spec.ToCompositeFieldPath, spec.CombineToComposite, spec.FromEnvironmentFieldPath:
	default:
		from, to = p.Source(r.xr), &r.environment
	}
	err := r.apply(p, from, to)
	if fieldpath.IsNotFound(err) && p.Policy == spec.FromOptional {
		return nil
	}
	return err
}

// apply applies a patch, and reports its point and the branches of its transforms.
func (r *run) apply(p *placedPatch, from map[string]any, to *patch.Object) error {
	if r.coverage != nil {
		r.budget.Branch = func(transform int, field string) { r.coverage.Hit(p.branch(transform, field)) }
	}
	err := p.Apply(from, to, &r.budget)
	r.applied(p, !fieldpath.IsNotFound(err))
	return err
}

// compose adds the resource of a template to r.composed. Without a base, the template changes the
// resource that earlier steps desire, which must exist.
func (r *run) compose(ctx context.Context, t *template) error {
	if t.baseErr != nil {
		return t.baseErr
	}
	made := &composed{fields: runtime.DeepCopyJSON(t.base)}
	if t.base == nil {
		desired, ok := r.req.GetDesired().GetResources()[t.name]
		if c := r.composed[t.name]; c != nil { // An earlier template composed it.
			made.fields = runtime.DeepCopyJSON(c.fields)
		} else if ok {
			made.fields = desired.GetResource().AsMap()
		} else {
			return fmt.Errorf("composed resource %q has no base template, and was not produced by a previous Function in the pipeline", t.name)
		}
	}
	o := r.observe(t.name)
	if o != nil {
		if err := r.applyObserved(t, made, o); err != nil {
			return err
		}
	}
	kept, err := r.patch(ctx, t, made, o)
	if err != nil {
		return err
	}
	if kept {
		r.composed[t.name] = made
		if r.coverage != nil {
			r.coverage.Hit(t.point())
		}
	}
	return nil
}

func (r *run) observe(name string) *observed {
	if o, ok := r.observed[name]; ok {
		return o
	}
	resource, ok := r.req.GetObserved().GetResources()[name]
	if !ok {
		return nil
	}
	o := &observed{resource: resource}
	r.observed[name] = o
	return o
}

// applyObserved copies the name, the namespace and the connection details of the
// observed resource, and sets the readiness of the composed resource.
func (r *run) applyObserved(t *template, made *composed, o *observed) error {
	name, namespace := identity(o.resource)
	u := unstructured.Unstructured{Object: made.fields}
	u.SetNamespace(namespace)
	u.SetName(name)
	for i := range t.details {
		if v, ok := t.details[i].read(o); ok {
			if r.details == nil {
				r.details = map[string][]byte{}
			}
			r.details[t.details[i].Name] = v
		}
	}
	ready, ran, err := isReady(t.checks, o)
	for n := 0; n < ran && r.coverage != nil; n++ {
		r.coverage.Hit(sdk.Point{Kind: sdk.ReadinessCheck, Path: t.check(n)})
	}
	if errors.Is(err, errUncheckable) {
		return fmt.Errorf("cannot check readiness of composed resource %q: %w", t.name, err)
	}
	if err != nil {
		sdk.Warn(r.rsp, fmt.Errorf("cannot check readiness of composed resource %q: %w", t.name, err))
	}
	if ready {
		made.ready = fnv1.Ready_READY_TRUE
	}
	return nil
}

// patch applies a template's patches. It returns false if the resource does not
// exist yet and a required value is missing. The resource is then not composed.
func (r *run) patch(ctx context.Context, t *template, made *composed, o *observed) (kept bool, err error) {
	target := patch.Object{Fields: made.fields}
	defer func() { made.fields = target.Fields }()
	for i := range t.patches {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		p := &t.patches[i]
		from, to := r.sourceAndTarget(p, &target, o)
		if from == nil {
			r.applied(p, false)
			continue
		}
		err := r.apply(p, from, to)
		switch {
		case err == nil, fieldpath.IsNotFound(err) && p.Policy != spec.FromRequired:
		case !fieldpath.IsNotFound(err):
			return false, fmt.Errorf("cannot render composed resource %q %q patch at index %d: %w", t.name, p.Type, i, err)
		case o == nil && to == &target:
			sdk.Warn(r.rsp, fmt.Errorf("not adding new composed resource %q to desired state because %q patch at index %d has 'policy.fromFieldPath: Required': %w", t.name, p.Type, i, err))
			r.dropped = true
			return false, nil
		default:
			sdk.Warn(r.rsp, fmt.Errorf("cannot render composed resource %q %q patch at index %d: ignoring 'policy.fromFieldPath: Required' because 'to' resource already exists: %w", t.name, p.Type, i, err))
		}
	}
	return true, nil
}

// sourceAndTarget returns the objects that a patch reads and writes. from is nil
// if the patch reads a resource that does not exist.
func (r *run) sourceAndTarget(p *placedPatch, target *patch.Object, o *observed) (from map[string]any, to *patch.Object) {
	switch p.Type {
	case spec.ToCompositeFieldPath, spec.CombineToComposite:
		to = &r.desired
	case spec.ToEnvironmentFieldPath, spec.CombineToEnvironment:
		to = &r.environment
	case spec.FromEnvironmentFieldPath, spec.CombineFromEnvironment:
		return r.environment.Fields, target
	default:
		return p.Source(r.xr), target
	}
	if o == nil {
		return nil, to
	}
	return o.fields(), to
}

// finish writes the desired state and the environment into the response. Like the
// SDK of real functions, it drops the connection details of composed resources
// that earlier steps desire.
func (r *run) finish(secret map[string]*fnv1.Resource) error {
	xr, err := sdk.Struct(r.desired.Fields)
	if err != nil {
		return fmt.Errorf("cannot set desired composite resource: %w", err)
	}
	state := &fnv1.State{Composite: &fnv1.Resource{Resource: xr, ConnectionDetails: r.details}, Resources: sdk.Desired(r.req)}
	if r.dropped {
		state.Composite.Ready = fnv1.Ready_READY_FALSE
	}
	for name, c := range r.composed {
		body, err := sdk.Struct(c.fields)
		if err != nil {
			return fmt.Errorf("cannot set desired composed resources: composed resource %q: %w", name, err)
		}
		state.Resources[name] = &fnv1.Resource{Resource: body, Ready: c.ready}
	}
	maps.Copy(state.Resources, secret)
	env, err := sdk.Struct(r.environment.Fields)
	if err != nil {
		return fmt.Errorf("cannot set the environment: %w", err)
	}
	r.rsp.Desired = state
	r.rsp.Context = sdk.With(r.req.GetContext(), map[string]*structpb.Value{sdk.EnvironmentKey: structpb.NewStructValue(env)})
	return nil
}
