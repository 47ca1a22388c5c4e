package report

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A state is the desired state and the context as plain values.
type state struct {
	desired map[string]resource // by name; the XR has none
	context map[string]any
}

// A resource is a desired resource as plain values. Its details are never
// shown.
type resource struct {
	body    map[string]any
	ready   string
	details map[string][]byte
}

func stateOf(desired *fnv1.State, context *structpb.Struct) state {
	s := state{desired: make(map[string]resource, len(desired.GetResources())+1)}
	if xr := desired.GetComposite(); xr != nil {
		s.desired[""] = resourceOf(xr)
	}
	for name, r := range desired.GetResources() {
		// The trace could not distinguish a resource without a name
		// from the XR.
		if name != "" {
			s.desired[name] = resourceOf(r)
		}
	}
	if len(context.GetFields()) > 0 {
		s.context = object(context)
	}
	return s
}

func resourceOf(r *fnv1.Resource) resource {
	out := resource{details: r.GetConnectionDetails()}
	if r.GetResource() != nil {
		out.body = object(r.GetResource())
	}
	switch r.GetReady() {
	case fnv1.Ready_READY_TRUE:
		out.ready = "True"
	case fnv1.Ready_READY_FALSE:
		out.ready = "False"
	}
	return out
}

func object(s *structpb.Struct) map[string]any {
	m := make(map[string]any, len(s.GetFields()))
	for k, v := range s.GetFields() {
		m[k] = plain(v)
	}
	return m
}

// plain converts v to a Go value. A function can send numbers that JSON cannot
// express; they become strings.
func plain(v *structpb.Value) any {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return object(v.StructValue)
	case *structpb.Value_ListValue:
		l := make([]any, len(v.ListValue.GetValues()))
		for i, e := range v.ListValue.GetValues() {
			l[i] = plain(e)
		}
		return l
	case *structpb.Value_StringValue:
		return v.StringValue
	case *structpb.Value_BoolValue:
		return v.BoolValue
	case *structpb.Value_NumberValue:
		if math.IsNaN(v.NumberValue) || math.IsInf(v.NumberValue, 0) {
			return strconv.FormatFloat(v.NumberValue, 'g', -1, 64)
		}
		return v.NumberValue
	}
	return nil
}

// diffResources compares desired states: the XR first, then composed resources
// in natural order of their names.
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
	if ready := fieldpath.Diff(known(was.ready), known(is.ready)); ready != nil {
		c.Ready = &ready[0]
	}
	c.ConnectionDetails = diffDetails(was.details, is.details)
	return c
}

// known returns nil for an unspecified readiness.
func known(ready string) any {
	if ready == "" {
		return nil
	}
	return ready
}

// diffDetails compares connection details. In place of values it shows their
// sizes.
func diffDetails(was, is map[string][]byte) []Change {
	var all []Change
	for _, key := range fieldpath.ChangedKeys(was, is, bytes.Equal) {
		c := Change{Path: fieldpath.KeyPath(key), Op: Changed, Old: size(was, key), New: size(is, key)}
		switch {
		case c.Old == nil:
			c.Op = Added
		case c.New == nil:
			c.Op = Removed
		}
		all = append(all, c)
	}
	return all
}

func size(details map[string][]byte, key string) any {
	v, ok := details[key]
	if !ok {
		return nil
	}
	return fmt.Sprintf("%d bytes", len(v))
}
