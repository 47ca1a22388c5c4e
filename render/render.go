package render

import (
	"context"
	"encoding/base64"
	"errors"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// ErrNoSpec says that Request.Full asks for an XR's spec, and it has none.
var ErrNoSpec = errors.New("the composite resource has no spec to show in full")

// A FatalError is a FATAL result of a function. Crossplane would compose
// nothing.
type FatalError = reconciler.FatalError

// A Request is what to render.
type Request struct {
	// Profile is V2 if empty.
	Profile Profile
	// Input is the XR, its Composition and what is observed.
	reconciler.Input
	// Context is what the first function finds in its context. It may be nil.
	Context *structpb.Struct
	// Full asks for the XR with everything that it had.
	Full bool
}

// A Result is what came of it, as documents that can be printed.
type Result struct {
	// XR is the composite resource. Full is the same with everything that it had;
	// it is nil where the profile has no such.
	XR, Full map[string]any
	// Composed are the composed resources, sorted by their name in the pipeline.
	Composed []map[string]any
	// Results say what functions and the engine reported, in order.
	Results []map[string]any
	// Context is the document of what the last function left in its context.
	// Where HasContext is false there is none to print; profile Classic has
	// one that is nil, and so "null".
	Context    map[string]any
	HasContext bool
	// ConnectionDetails is the document of the XR's connection details, with
	// values in base64 as in a Secret.
	ConnectionDetails map[string]any
	// Notes are sentences about what no document shows, Warnings about what was
	// tried in vain.
	Notes, Warnings []string
}

// Include says what to print besides the XR and its resources.
type Include struct {
	Results, Context, ConnectionDetails bool
}

// Documents returns what `render` prints: the XR and the composed resources,
// then the results, the context and the connection details, if asked for.
func (r *Result) Documents(include Include) []map[string]any {
	docs := append([]map[string]any{r.XR}, r.Composed...)
	if include.Results {
		docs = append(docs, r.Results...)
	}
	if include.Context && r.HasContext {
		docs = append(docs, r.Context)
	}
	if include.ConnectionDetails {
		docs = append(docs, r.ConnectionDetails)
	}
	return docs
}

// Render runs the Composition's pipeline for the XR, calling functions by run.
//
// A function's FATAL result is returned as a *FatalError. Full for an XR
// without a spec is ErrNoSpec in profile Classic.
func Render(ctx context.Context, run function.Runner, req Request) (*Result, error) {
	v, err := req.Profile.Version()
	if err != nil {
		return nil, err
	}
	if req.Profile == Alpha {
		return nil, errors.New("functions of profile alpha are containers: there is no calling them")
	}
	if v.classic == nil {
		return reconcile(ctx, run, req)
	}
	return renderClassic(ctx, run, req, *v.classic)
}

func reconcile(ctx context.Context, run function.Runner, req Request) (*Result, error) {
	xr, err := reconciler.Setup(req.Input)
	if err != nil {
		return nil, err
	}
	if out, ended := reconciler.Ended(xr); ended {
		r := result(req, out)
		r.addOutcome(&reconciler.PipelineOutcome{})
		return r, nil
	}
	in, err := reconciler.PipelineOf(req.Input, xr)
	if err != nil {
		return nil, err
	}
	in.Context = req.Context
	got, err := reconciler.RunPipeline(ctx, run, in)
	if err != nil {
		return nil, err
	}
	out, err := reconciler.Assemble(req.Input, xr, got)
	if err != nil {
		return nil, err
	}
	r := result(req, out)
	r.addOutcome(got)
	if got.Context != nil {
		r.Context, r.HasContext = document("Context", "fields", got.Context.AsMap()), true
	}
	return r, nil
}

func renderClassic(ctx context.Context, run function.Runner, req Request, v reconciler.ClassicVersion) (*Result, error) {
	state, err := reconciler.Observe(req.XR, req.Observed, nil)
	if err != nil {
		return nil, err
	}
	in := v.Pipeline(req.Input, state)
	in.Context = req.Context
	got, err := reconciler.RunPipeline(ctx, run, in)
	if err != nil {
		return nil, err
	}
	out, err := v.Assemble(req.Input, got)
	if err != nil {
		return nil, err
	}
	if req.Full && out.Full == nil {
		return nil, ErrNoSpec
	}
	r := result(req, out)
	r.addOutcome(got)
	r.HasContext = true
	if got.Context != nil {
		r.Context = document("Context", "fields", nilIfEmpty(got.Context.AsMap()))
	}
	return r, nil
}

func result(req Request, out *reconciler.Output) *Result {
	r := &Result{XR: out.XR, Full: out.Full, Composed: out.Composed, Results: out.Results}
	if req.Full {
		r.XR = out.Full
	}
	return r
}

func (r *Result) addOutcome(got *reconciler.PipelineOutcome) {
	r.Warnings = got.Warnings
	details := map[string]any{}
	for k, v := range got.Desired.GetComposite().GetConnectionDetails() {
		details[k] = base64.StdEncoding.EncodeToString(v)
	}
	r.ConnectionDetails = document("ConnectionDetails", "data", details)
}

func document(kind, field string, value map[string]any) map[string]any {
	return map[string]any{"apiVersion": reconciler.APIVersion, "kind": kind, field: value}
}

func nilIfEmpty(m map[string]any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	return m
}
