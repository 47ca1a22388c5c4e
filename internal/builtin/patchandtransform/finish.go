package patchandtransform

import (
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// finish writes the response. The desired state of earlier steps has no
// connection details.
func (r *run) finish(secret map[string]*fnv1.Resource) error {
	xr, err := sdk.Struct(r.desired.Fields)
	if err != nil {
		return fmt.Errorf("cannot set desired composite resource: %w", err)
	}
	state := &fnv1.State{Composite: &fnv1.Resource{Resource: xr, ConnectionDetails: r.details}}
	if r.dropped {
		state.Composite.Ready = fnv1.Ready_READY_FALSE
	}
	if state.Resources, err = r.resources(); err != nil {
		return fmt.Errorf("cannot set desired composed resources: %w", err)
	}
	maps.Copy(state.Resources, secret)
	env, err := sdk.Struct(r.environment.Fields)
	if err != nil {
		return fmt.Errorf("cannot set the environment: %w", err)
	}
	r.rsp.Desired = state
	r.rsp.Context = sdk.With(r.req.GetContext(), map[string]*structpb.Value{environmentKey: structpb.NewStructValue(env)})
	return nil
}

func (r *run) resources() (map[string]*fnv1.Resource, error) {
	resources := sdk.Desired(r.req)
	for name, c := range r.composed {
		body, err := sdk.Struct(c.fields)
		if err != nil {
			return nil, fmt.Errorf("composed resource %q: %w", name, err)
		}
		resources[name] = &fnv1.Resource{Resource: body, Ready: c.ready}
	}
	return resources, nil
}
