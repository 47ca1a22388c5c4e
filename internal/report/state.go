package report

import (
	"bytes"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A state is the desired state and the context as Go values. Numbers that JSON
// cannot express, which functions can send, are strings.
type state struct {
	desired map[string]resource // by name; the XR has none
	context map[string]any
}

// A resource is a desired resource as Go values. Its details are never shown.
type resource struct {
	body    map[string]any
	ready   any // "True", "False" or nil
	details map[string][]byte
}

func stateOf(desired *fnv1.State, context *structpb.Struct) state {
	s := state{desired: make(map[string]resource, len(desired.GetResources())+1)}
	if xr := desired.GetComposite(); xr != nil {
		s.desired[""] = resourceOf(xr)
	}
	for name, r := range desired.GetResources() {
		// A trace cannot distinguish such a resource from the XR.
		if name != "" {
			s.desired[name] = resourceOf(r)
		}
	}
	if len(context.GetFields()) > 0 {
		s.context = context.AsMap()
	}
	return s
}

func resourceOf(r *fnv1.Resource) resource {
	out := resource{details: r.GetConnectionDetails()}
	if r.GetResource() != nil {
		out.body = r.GetResource().AsMap()
	}
	switch r.GetReady() {
	case fnv1.Ready_READY_TRUE:
		out.ready = "True"
	case fnv1.Ready_READY_FALSE:
		out.ready = "False"
	}
	return out
}

// diffResources compares desired states: the XR first, then resources by name.
func diffResources(before, after map[string]resource) []ResourceChange {
	var all []ResourceChange
	for _, name := range fieldpath.ChangedKeys(before, after, func(_, _ resource) bool { return false }) {
		was, had := before[name]
		is, has := after[name]
		c := diffResource(was, is)
		switch {
		case !had:
			c.Op = Added
		case !has:
			c.Op = Removed
		case c.Fields == nil && c.Ready == nil && c.ConnectionDetails == nil:
			continue
		}
		c.Name = name
		all = append(all, c)
	}
	return all
}

func diffResource(was, is resource) ResourceChange {
	c := ResourceChange{Op: Changed, Fields: fieldpath.Diff(was.body, is.body)}
	named := is.body
	if named == nil {
		named = was.body
	}
	c.APIVersion, _ = named["apiVersion"].(string)
	c.Kind, _ = named["kind"].(string)
	if ready := fieldpath.Diff(was.ready, is.ready); ready != nil {
		c.Ready = &ready[0]
	}
	c.ConnectionDetails = diffDetails(was.details, is.details)
	return c
}

// diffDetails compares connection details, and shows sizes instead of values.
func diffDetails(was, is map[string][]byte) []Change {
	var all []Change
	for _, key := range fieldpath.ChangedKeys(was, is, bytes.Equal) {
		c := Change{Path: fieldpath.KeyPath(key), Op: Changed}
		if v, ok := was[key]; ok {
			c.Old = fmt.Sprintf("%d bytes", len(v))
		} else {
			c.Op = Added
		}
		if v, ok := is[key]; ok {
			c.New = fmt.Sprintf("%d bytes", len(v))
		} else {
			c.Op = Removed
		}
		all = append(all, c)
	}
	return all
}
