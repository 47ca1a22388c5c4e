package reconciler

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"

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
	// SkipSame does not call a function again if its first response requires
	// exactly the resources and schemas that its first request had.
	SkipSame bool
}

// bootstrap adds the resources and schemas that the Composition requires for a
// step to the request.
func (r Requirements) bootstrap(req *fnv1.RunFunctionRequest, want *apiextv1.FunctionRequirements) {
	if want == nil || r.Bootstrap == nil {
		return
	}
	if len(want.RequiredResources) > 0 {
		req.RequiredResources = map[string]*fnv1.Resources{}
	}
	for _, sel := range want.RequiredResources {
		req.RequiredResources[sel.RequirementName] = r.Bootstrap(selector(sel))
	}
	if r.Schema == nil {
		return
	}
	if len(want.RequiredSchemas) > 0 {
		req.RequiredSchemas = map[string]*fnv1.Schema{}
	}
	for _, sel := range want.RequiredSchemas {
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
		if proto.Equal(asked, asks) {
			return rsp, "", nil
		}
		if i == maxIterations {
			return nil, "", fmt.Errorf("the function's requirements still change after %d more calls", maxIterations)
		}
		next := r.fetch(first, asks)
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
	selectors := slices.Collect(maps.Values(ExtraResources(asks)))
	if !r.OnlyExtra {
		selectors = slices.AppendSeq(selectors, maps.Values(asks.GetResources()))
	}
	var missing []string
	for _, s := range selectors {
		if len(r.Dynamic(s).GetItems()) == 0 {
			missing = append(missing, describe(s))
		}
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	if len(missing) == 0 {
		return ""
	}
	if n := len(missing) - maxAdvised; n > 0 {
		missing = append(missing[:maxAdvised], fmt.Sprintf("%d more", n))
	}
	return "name the files of the missing resources with " + hint.RequiredResources + " PATH: " + hint.Hint(strings.Join(missing, ", "))
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
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return true
		}
	}
	return false
}

// fetch returns a copy of the first request, without its context, with the
// resources and schemas that a response requires.
func (r Requirements) fetch(first *fnv1.RunFunctionRequest, asks *fnv1.Requirements) *fnv1.RunFunctionRequest {
	next := &fnv1.RunFunctionRequest{
		Meta: first.GetMeta(), Observed: first.GetObserved(), Desired: first.GetDesired(),
		Input: first.GetInput(), Credentials: first.GetCredentials(),
	}
	for name, sel := range ExtraResources(asks) {
		given := next.ProtoReflect().Mutable(field(next.ProtoReflect(), "extra_resources")).Map()
		given.Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfMessage(r.Dynamic(sel).ProtoReflect()))
	}
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

// A Store has the objects that functions may require.
type Store []*unstructured.Unstructured

// Check returns an error if an object cannot be sent to a function.
func (s Store) Check() error {
	for _, o := range s {
		if _, err := structpb.NewStruct(o.Object); err != nil {
			return fmt.Errorf("encoding %s %q: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Exact returns the objects that match a selector by the rules of an API server,
// sorted by namespace and name. It uses the first of several objects with the
// same identity.
func (s Store) Exact(sel *fnv1.ResourceSelector) *fnv1.Resources {
	_, byName := sel.GetMatch().(*fnv1.ResourceSelector_MatchName)
	var found []*unstructured.Unstructured
	seen := map[identity]bool{}
	for _, o := range s {
		if !hasKind(o, sel) || (byName || sel.GetNamespace() != "") && o.GetNamespace() != sel.GetNamespace() {
			continue
		}
		id := identityOf(o)
		if !seen[id] && matches(o, sel) {
			found = append(found, o)
		}
		seen[id] = true
	}
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return resources(found)
}

// ByName returns the objects of all namespaces that match a selector, sorted by
// name. For a selector with a name it returns at most one object.
func (s Store) ByName(sel *fnv1.ResourceSelector) *fnv1.Resources {
	found := s.anywhere(sel)
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return resources(found)
}

// InOrder returns the objects of all namespaces that match a selector, in the
// order of the store. For a selector with a name it returns at most one object.
func (s Store) InOrder(sel *fnv1.ResourceSelector) *fnv1.Resources {
	return resources(s.anywhere(sel))
}

func (s Store) anywhere(sel *fnv1.ResourceSelector) []*unstructured.Unstructured {
	found := s.find(sel)
	if _, byName := sel.GetMatch().(*fnv1.ResourceSelector_MatchName); byName && len(found) > 1 {
		return found[:1]
	}
	return found
}

func (s Store) find(sel *fnv1.ResourceSelector) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, o := range s {
		if hasKind(o, sel) && matches(o, sel) {
			found = append(found, o)
		}
	}
	return found
}

func hasKind(o *unstructured.Unstructured, sel *fnv1.ResourceSelector) bool {
	return o.GetAPIVersion() == sel.GetApiVersion() && o.GetKind() == sel.GetKind()
}

// An identity identifies an object in an API server.
type identity struct{ apiVersion, kind, namespace, name string }

func identityOf(o *unstructured.Unstructured) identity {
	return identity{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
}

// identities returns the identities of all objects in the store.
func (s Store) identities() map[identity]bool {
	all := make(map[identity]bool, len(s))
	for _, o := range s {
		all[identityOf(o)] = true
	}
	return all
}

// referenced returns the objects that refs name, in the order of refs. If namespace is
// not empty, it is that of all objects. Of several objects with the same identity,
// referenced returns the first.
func (s Store) referenced(refs []any, namespace string) []*unstructured.Unstructured {
	ids, names := make([]identity, len(refs)), map[string]bool{}
	for i, ref := range refs {
		m, _ := ref.(map[string]any)
		text := func(key string) string { t, _ := m[key].(string); return t }
		ids[i] = identity{text("apiVersion"), text("kind"), cmp.Or(namespace, text("namespace")), text("name")}
		names[ids[i].name] = ids[i].name != ""
	}
	byID := map[identity]*unstructured.Unstructured{}
	for _, o := range slices.Backward(s) {
		if names[o.GetName()] { // Comparing names first is fast in a store of many objects.
			byID[identityOf(o)] = o
		}
	}
	var found []*unstructured.Unstructured
	for _, id := range ids {
		if o := byID[id]; o != nil {
			found = append(found, o)
		}
	}
	return found
}

func matches(o *unstructured.Unstructured, sel *fnv1.ResourceSelector) bool {
	switch m := sel.GetMatch().(type) {
	case *fnv1.ResourceSelector_MatchName:
		return o.GetName() == m.MatchName
	case *fnv1.ResourceSelector_MatchLabels:
		labels := o.GetLabels()
		for k, want := range m.MatchLabels.GetLabels() {
			if got, ok := labels[k]; !ok || got != want {
				return false
			}
		}
	}
	return true
}

func resources(found []*unstructured.Unstructured) *fnv1.Resources {
	rs := &fnv1.Resources{}
	for _, o := range found {
		// Store.Check has returned an error for an object that cannot be encoded.
		if s, err := structpb.NewStruct(o.Object); err == nil {
			rs.Items = append(rs.Items, &fnv1.Resource{Resource: s})
		}
	}
	return rs
}

// Secret returns the data of a Secret in the store. It ignores stringData.
func (s Store) Secret(namespace, name string) (map[string][]byte, bool) {
	i := slices.IndexFunc(s, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && o.GetNamespace() == namespace && o.GetName() == name
	})
	if i < 0 {
		return nil, false
	}
	encoded, _, _ := unstructured.NestedStringMap(s[i].Object, "data")
	data := make(map[string][]byte, len(encoded))
	for k, v := range encoded {
		if b, err := base64.StdEncoding.DecodeString(v); err == nil {
			data[k] = b
		}
	}
	return data, true
}

// ConnectionDetails returns the data of the Secret in o's
// writeConnectionSecretToRef, or nil if the store does not have this Secret.
func (s Store) ConnectionDetails(o *unstructured.Unstructured) map[string][]byte {
	ref, found, _ := unstructured.NestedStringMap(o.Object, "spec", fieldSecretRef)
	if !found {
		return nil
	}
	data, _ := s.Secret(cmp.Or(ref["namespace"], o.GetNamespace()), ref["name"])
	return data
}
