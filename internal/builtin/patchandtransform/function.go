package patchandtransform

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
)

// New returns the function. It caches compiled inputs. progress receives a warning for each part of an
// input that has an unexpected effect.
func New(progress progress.Func) function.Runner {
	return function.RunnerFunc((&fn{progress: progress}).run)
}

type fn struct {
	progress progress.Func
	programs proc.Memo[sdk.Sum, *program]
}

func (f *fn) run(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	p, err := f.programs.Do(sdk.SumOf(req.GetInput()), func() (*program, error) {
		p, err := compile(req.GetInput())
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
