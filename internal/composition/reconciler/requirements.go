package reconciler

import (
	"fmt"
	"maps"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxIterations is how often a function may change its mind about what it
// requires, after its first call.
const maxIterations = 5

// Requirements says where the resources and schemas that functions ask for come
// from. A finder returns an empty message for what it does not find.
type Requirements struct {
	// Bootstrap finds what the Composition requires for a step. Nil ignores
	// what it says.
	Bootstrap func(*fnv1.ResourceSelector) *fnv1.Resources
	// Dynamic finds what a function's response requires.
	Dynamic func(*fnv1.ResourceSelector) *fnv1.Resources
	// Schema finds OpenAPI schemas. Nil ignores requirements of schemas.
	Schema func(*fnv1.SchemaSelector) *fnv1.Schema
	// OnlyExtra knows no requirements but extra_resources, their first form.
	OnlyExtra bool
	// SkipSame does not call a function again if its first call asks for
	// exactly what it was given.
	SkipSame bool
}

// bootstrap gives a function what the Composition requires for its step.
func (r Requirements) bootstrap(req *fnv1.RunFunctionRequest, want *apiextv1.FunctionRequirements) {
	if want == nil || r.Bootstrap == nil {
		return
	}
	for _, sel := range want.RequiredResources {
		if req.RequiredResources == nil {
			req.RequiredResources = map[string]*fnv1.Resources{}
		}
		req.RequiredResources[sel.RequirementName] = r.Bootstrap(selector(sel))
	}
	if r.Schema == nil {
		return
	}
	for _, sel := range want.RequiredSchemas {
		if req.RequiredSchemas == nil {
			req.RequiredSchemas = map[string]*fnv1.Schema{}
		}
		req.RequiredSchemas[sel.RequirementName] = r.Schema(&fnv1.SchemaSelector{ApiVersion: sel.APIVersion, Kind: sel.Kind})
	}
}

func selector(sel apiextv1.RequiredResourceSelector) *fnv1.ResourceSelector {
	s := &fnv1.ResourceSelector{ApiVersion: sel.APIVersion, Kind: sel.Kind, Namespace: sel.Namespace}
	switch {
	case sel.Name != nil:
		s.Match = &fnv1.ResourceSelector_MatchName{MatchName: *sel.Name}
	case sel.MatchLabels != nil:
		s.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: sel.MatchLabels}}
	}
	return s
}

// satisfy calls a function until it is fatal or asks for what it asked for
// before. Each call but the first gets what the one before it asked for, and
// its context; everything else stays as it was.
func (r Requirements) satisfy(req *fnv1.RunFunctionRequest, call func(*fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)) (*fnv1.RunFunctionResponse, error) {
	first := req
	var asked *fnv1.Requirements
	for i := 0; ; i++ {
		rsp, err := call(req)
		if err != nil {
			return nil, err
		}
		asks := rsp.GetRequirements()
		if IsFatal(rsp) || proto.Equal(asked, asks) {
			return rsp, nil
		}
		if i == maxIterations {
			return nil, fmt.Errorf("its requirements still change after %d more calls", maxIterations)
		}
		next := r.fetch(first, asks)
		if i == 0 && r.SkipSame && sameRequired(req, next) {
			return rsp, nil
		}
		next.Context = rsp.GetContext()
		req, asked = next, asks
	}
}

// IsFatal reports whether a response has a result of severity FATAL.
func IsFatal(rsp *fnv1.RunFunctionResponse) bool {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return true
		}
	}
	return false
}

// fetch returns the first request with what a response asks for besides what
// the Composition does.
func (r Requirements) fetch(first *fnv1.RunFunctionRequest, asks *fnv1.Requirements) *fnv1.RunFunctionRequest {
	next := &fnv1.RunFunctionRequest{
		Meta: first.GetMeta(), Observed: first.GetObserved(), Desired: first.GetDesired(),
		Input: first.GetInput(), Credentials: first.GetCredentials(),
	}
	r.fetchExtra(next, asks)
	if r.OnlyExtra {
		return next
	}
	next.RequiredResources = overlay(first.GetRequiredResources(), asks.GetResources(), r.Dynamic)
	if r.Schema != nil {
		next.RequiredSchemas = overlay(first.GetRequiredSchemas(), asks.GetSchemas(), r.Schema)
	}
	return next
}

func overlay[S, T any](base map[string]T, asks map[string]S, find func(S) T) map[string]T {
	if len(base) == 0 && len(asks) == 0 {
		return nil
	}
	all := maps.Clone(base)
	if all == nil {
		all = make(map[string]T, len(asks))
	}
	for name, sel := range asks {
		all[name] = find(sel)
	}
	return all
}

// fetchExtra serves extra_resources, which functions of before required_resources
// ask for. The field is deprecated, and so is reached by its name.
func (r Requirements) fetchExtra(next *fnv1.RunFunctionRequest, asks *fnv1.Requirements) {
	asked := field(asks.ProtoReflect(), "extra_resources")
	if !asks.ProtoReflect().IsValid() || asks.ProtoReflect().Get(asked).Map().Len() == 0 {
		return
	}
	given := next.ProtoReflect().Mutable(field(next.ProtoReflect(), "extra_resources")).Map()
	asks.ProtoReflect().Get(asked).Map().Range(func(name protoreflect.MapKey, sel protoreflect.Value) bool {
		if s, ok := sel.Message().Interface().(*fnv1.ResourceSelector); ok {
			given.Set(name, protoreflect.ValueOfMessage(r.Dynamic(s).ProtoReflect()))
		}
		return true
	})
}

func field(m protoreflect.Message, name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

func sameRequired(a, b *fnv1.RunFunctionRequest) bool {
	only := func(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
		bare := &fnv1.RunFunctionRequest{RequiredResources: req.GetRequiredResources(), RequiredSchemas: req.GetRequiredSchemas()}
		if extra := field(req.ProtoReflect(), "extra_resources"); req.ProtoReflect().Has(extra) {
			bare.ProtoReflect().Set(extra, req.ProtoReflect().Get(extra))
		}
		return bare
	}
	return proto.Equal(only(a), only(b))
}
