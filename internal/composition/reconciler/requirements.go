package reconciler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/hint"
)

// maxIterations limits how often a step calls its function again because the
// requirements changed.
const maxIterations = 5

// Requirements finds the resources and schemas that functions require. Each of
// its functions returns an empty message if it finds nothing.
type Requirements struct {
	// Bootstrap finds the resources that the Composition requires for a step. If
	// Bootstrap is nil, requirements in the Composition are ignored.
	Bootstrap func(*fnv1.ResourceSelector) *fnv1.Resources
	// Dynamic finds resources that a function requires in its response.
	Dynamic func(*fnv1.ResourceSelector) *fnv1.Resources
	// Schema finds OpenAPI schemas. If Schema is nil, required schemas are ignored.
	Schema func(*fnv1.SchemaSelector) *fnv1.Schema
	// OnlyExtra ignores all requirements in responses except extra_resources.
	OnlyExtra bool
	// Off ignores all requirements in responses.
	Off bool
	// SkipSame does not call a function again if its first response requires
	// exactly the resources and schemas that its first request had.
	SkipSame bool
}

// bootstrap adds the resources and schemas that the Composition requires for a
// step to the request.
func (r Requirements) bootstrap(req *fnv1.RunFunctionRequest, want *apiextv1.FunctionRequirements) error {
	if want == nil || r.Bootstrap == nil {
		return nil
	}
	if len(want.RequiredResources) > 0 {
		req.RequiredResources = map[string]*fnv1.Resources{}
	}
	for _, sel := range want.RequiredResources {
		req.RequiredResources[sel.RequirementName] = r.Bootstrap(selector(sel))
	}
	if r.Schema == nil || len(want.RequiredSchemas) == 0 {
		return nil
	}
	selectors := make(map[string]*fnv1.SchemaSelector, len(want.RequiredSchemas))
	for _, sel := range want.RequiredSchemas {
		selectors[sel.RequirementName] = &fnv1.SchemaSelector{ApiVersion: sel.APIVersion, Kind: sel.Kind}
	}
	req.RequiredSchemas = overlay(nil, selectors, r.Schema)
	return checkSchemas(selectors)
}

// checkSchemas returns an error if the apiVersion of a required schema cannot be parsed.
func checkSchemas(selectors map[string]*fnv1.SchemaSelector) error {
	for _, name := range slices.Sorted(maps.Keys(selectors)) {
		if _, err := schema.ParseGroupVersion(selectors[name].GetApiVersion()); err != nil {
			return fmt.Errorf("fetching the required schema %q: the apiVersion %q is not of the form group/version", name, selectors[name].GetApiVersion())
		}
	}
	return nil
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

// Satisfy calls a function until its response is fatal or has the same requirements as its
// previous response. Each further request is the first request with the resources and
// schemas that the last response requires, and with the context of that response. advice is a
// hint about required resources that do not exist, if the last response is fatal, or "".
func (r Requirements) Satisfy(req *fnv1.RunFunctionRequest, call func(*fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)) (rsp *fnv1.RunFunctionResponse, advice hint.Hint, err error) {
	first := req
	var asked *fnv1.Requirements
	for i := 0; ; i++ {
		rsp, err := call(req)
		if err != nil {
			return nil, "", err
		}
		asks := rsp.GetRequirements()
		if IsFatal(rsp) {
			return rsp, r.advise(asked), nil
		}
		if r.Off || proto.Equal(asked, asks) {
			return rsp, "", nil
		}
		if i == maxIterations {
			err := fmt.Errorf("the function's requirements still change after %d more calls", maxIterations)
			return nil, "", hint.Wrap(err, "a function must return the same requirements in each response, also when the request has the resources")
		}
		next, err := r.fetch(first, asks)
		if err != nil {
			return nil, "", err
		}
		if i == 0 && r.SkipSame && sameRequired(req, next) {
			return rsp, "", nil
		}
		next.Context = rsp.GetContext()
		req, asked = next, asks
	}
}

// maxAdvised limits the number of resources in a hint.
const maxAdvised = 3

// advise returns a hint about the resources in asks that do not exist, or "".
func (r Requirements) advise(asks *fnv1.Requirements) hint.Hint {
	missing, others := r.missing(asks)
	switch {
	case len(missing) == 0:
		return ""
	case len(others) > 0:
		return hint.Hint("correct the labels or the selector: " + strings.Join(missing, ", ") + " is required, but the resources of the kind are " + strings.Join(others[:min(len(others), maxAdvised)], ", "))
	}
	return "name the files of the missing resources with " + hint.RequiredResources + " PATH: " + hint.Hint(strings.Join(missing, ", "))
}

// missing describes the resources in asks that do not exist, at most maxAdvised of them and the number
// of the others. others are resources of the same kinds with other labels.
func (r Requirements) missing(asks *fnv1.Requirements) (missing, others []string) {
	if r.Off || r.Dynamic == nil {
		return nil, nil
	}
	selectors := slices.Collect(maps.Values(ExtraResources(asks)))
	if !r.OnlyExtra {
		selectors = slices.AppendSeq(selectors, maps.Values(asks.GetResources()))
	}
	for _, s := range selectors {
		if len(r.Dynamic(s).GetItems()) > 0 {
			continue
		}
		missing = append(missing, describe(s))
		if s.GetMatchLabels() != nil {
			others = append(others, r.labeled(s)...)
		}
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	if n := len(missing) - maxAdvised; n > 0 {
		missing = append(missing[:maxAdvised], fmt.Sprintf("%d more", n))
	}
	return missing, others
}

// labeled describes the resources of the kind and namespace of a selector, with their labels.
func (r Requirements) labeled(s *fnv1.ResourceSelector) (all []string) {
	for _, item := range r.Dynamic(&fnv1.ResourceSelector{ApiVersion: s.GetApiVersion(), Kind: s.GetKind(), Namespace: s.Namespace, Match: &fnv1.ResourceSelector_MatchLabels{}}).GetItems() {
		u := unstructured.Unstructured{Object: item.GetResource().AsMap()}
		labels := "without labels"
		if len(u.GetLabels()) > 0 {
			labels = "with the labels " + klabels.Set(u.GetLabels()).String()
		}
		all = append(all, fmt.Sprintf("%s %q %s", s.GetKind(), u.GetName(), labels))
	}
	return all
}

// describe returns the resources that a selector selects, such as `Boat "gull" (v1)`.
func describe(s *fnv1.ResourceSelector) string {
	which := ""
	switch m := s.GetMatch().(type) {
	case *fnv1.ResourceSelector_MatchName:
		which = fmt.Sprintf(" %q", m.MatchName)
	case *fnv1.ResourceSelector_MatchLabels:
		which = " with the labels " + klabels.Set(m.MatchLabels.GetLabels()).String()
	}
	if ns := s.GetNamespace(); ns != "" {
		which += fmt.Sprintf(" in namespace %q", ns)
	}
	return fmt.Sprintf("%s%s (%s)", s.GetKind(), which, s.GetApiVersion())
}

// unsupported returns the keys of the resources that a response requires and OnlyExtra ignores.
func (r Requirements) unsupported(rsp *fnv1.RunFunctionResponse) []string {
	if !r.OnlyExtra {
		return nil
	}
	extra := ExtraResources(rsp.GetRequirements())
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(rsp.GetRequirements().GetResources())) {
		if extra[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// IsFatal reports whether a response has a result of severity FATAL.
func IsFatal(rsp *fnv1.RunFunctionResponse) bool {
	return slices.ContainsFunc(rsp.GetResults(), func(r *fnv1.Result) bool { return r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL })
}

// fetch returns a copy of the first request, without its context, with the
// resources and schemas that a response requires.
func (r Requirements) fetch(first *fnv1.RunFunctionRequest, asks *fnv1.Requirements) (*fnv1.RunFunctionRequest, error) {
	next := &fnv1.RunFunctionRequest{
		Meta: first.GetMeta(), Observed: first.GetObserved(), Desired: first.GetDesired(),
		Input: first.GetInput(), Credentials: first.GetCredentials(),
	}
	for name, sel := range ExtraResources(asks) {
		given := next.ProtoReflect().Mutable(field(next.ProtoReflect(), "extra_resources")).Map()
		given.Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfMessage(r.Dynamic(sel).ProtoReflect()))
	}
	if r.OnlyExtra {
		return next, nil
	}
	next.RequiredResources = overlay(first.GetRequiredResources(), asks.GetResources(), r.Dynamic)
	if r.Schema == nil {
		return next, nil
	}
	next.RequiredSchemas = overlay(first.GetRequiredSchemas(), asks.GetSchemas(), r.Schema)
	return next, checkSchemas(asks.GetSchemas())
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

// ExtraResources returns the field extra_resources. Functions used it before the field
// resources existed. It is read by name, because its accessor is deprecated.
func ExtraResources(asks *fnv1.Requirements) map[string]*fnv1.ResourceSelector {
	all := map[string]*fnv1.ResourceSelector{}
	m := asks.ProtoReflect()
	m.Get(field(m, "extra_resources")).Map().Range(func(name protoreflect.MapKey, sel protoreflect.Value) bool {
		all[name.String()], _ = sel.Message().Interface().(*fnv1.ResourceSelector)
		return true
	})
	return all
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
