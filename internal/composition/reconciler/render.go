package reconciler

import (
	"context"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
)

// Input is the input of a render; its fields are those of render.Request. The
// objects in Required and Extra must pass Check. Render does not change it.
type Input struct {
	XR                           *unstructured.Unstructured
	Composition                  *apiextv1.Composition
	Observed                     []*unstructured.Unstructured
	Required, Extra, Credentials Store
	Schemas                      func(*fnv1.SchemaSelector) *fnv1.Schema
	Legacy                       bool
	Context                      *structpb.Struct
}

func (in Input) findSchema(sel *fnv1.SchemaSelector) *fnv1.Schema {
	if in.Schemas == nil {
		return &fnv1.Schema{}
	}
	return in.Schemas(sel)
}

// Output is the output of a render. Its fields are those of render.Result, in
// the same order, so that one can be converted to the other.
type Output struct {
	XR, Full          map[string]any
	Composed          []map[string]any
	Results           []map[string]any
	Context           map[string]any
	HasContext        bool
	ConnectionDetails map[string]any
	Notes, Warnings   []string
}

// Render reconciles the composite resource once, as a version of Crossplane
// does. A result of severity FATAL is a *function.FatalError.
func Render(ctx context.Context, run function.Runner, in Input, v Version) (*Output, error) {
	if v.Classic != nil {
		return v.Classic.render(ctx, run, in)
	}
	xr, err := setup(in)
	if err != nil {
		return nil, err
	}
	if out := ended(xr); out != nil {
		return out, nil
	}
	p, err := pipelineOf(in, xr)
	if err != nil {
		return nil, err
	}
	got, err := p.run(ctx, run)
	if err != nil {
		return nil, err
	}
	return assemble(in, xr, got)
}
