package report

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Result is what a function reported.
type Result struct {
	// Severity is Fatal, Warning, Normal or Unspecified.
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Reason   string `json:"reason,omitempty"`
	// Target is Composite or CompositeAndClaim, or empty if unspecified.
	Target string `json:"target,omitempty"`
}

// A Condition is a status condition that a function set on the XR.
type Condition struct {
	Type string `json:"type"`
	// Status is True, False, Unknown or Unspecified.
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Target is as in Result.
	Target string `json:"target,omitempty"`
}

// ResultsOf returns the results in a response.
func ResultsOf(rsp *fnv1.RunFunctionResponse) []Result {
	var all []Result
	for _, r := range rsp.GetResults() {
		all = append(all, Result{
			Severity: camel(r.GetSeverity().String(), "SEVERITY_"),
			Message:  r.GetMessage(),
			Reason:   r.GetReason(),
			Target:   target(r.GetTarget()),
		})
	}
	return all
}

// respond sets the fields of s from a response, except Changes and ContextChanges.
func (s *Step) respond(rsp *fnv1.RunFunctionResponse) {
	s.Requirements = requirements(rsp.GetRequirements())
	s.Results = ResultsOf(rsp)
	s.Fatal = reconciler.IsFatal(rsp)
	for _, c := range rsp.GetConditions() {
		s.Conditions = append(s.Conditions, Condition{
			Type:    c.GetType(),
			Status:  camel(c.GetStatus().String(), "STATUS_CONDITION_"),
			Reason:  c.GetReason(),
			Message: c.GetMessage(),
			Target:  target(c.GetTarget()),
		})
	}
}

func target(t fnv1.Target) string {
	if t == fnv1.Target_TARGET_UNSPECIFIED {
		return ""
	}
	return camel(t.String(), "TARGET_")
}

// camel turns PREFIX_COMPOSITE_AND_CLAIM into CompositeAndClaim.
func camel(constant, prefix string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimPrefix(constant, prefix), "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}

// requirements describes the requirements of a response, in natural order.
func requirements(r *fnv1.Requirements) []string {
	all := append(selected("resource", r.GetResources()), selected("extra resource", reconciler.ExtraResources(r))...)
	for _, name := range slices.SortedFunc(maps.Keys(r.GetSchemas()), fieldpath.Natural) {
		s := r.GetSchemas()[name]
		all = append(all, fmt.Sprintf("schema %q: %s %s", name, s.GetApiVersion(), s.GetKind()))
	}
	return all
}

func selected(what string, selectors map[string]*fnv1.ResourceSelector) (all []string) {
	for _, name := range slices.SortedFunc(maps.Keys(selectors), fieldpath.Natural) {
		all = append(all, fmt.Sprintf("%s %q: %s", what, name, selector(selectors[name])))
	}
	return all
}

func selector(s *fnv1.ResourceSelector) string {
	text := s.GetApiVersion() + " " + s.GetKind()
	switch match := s.GetMatch().(type) {
	case *fnv1.ResourceSelector_MatchName:
		text += fmt.Sprintf(" named %q", match.MatchName)
	case *fnv1.ResourceSelector_MatchLabels:
		var labels []string
		for _, k := range slices.SortedFunc(maps.Keys(match.MatchLabels.GetLabels()), fieldpath.Natural) {
			labels = append(labels, k+"="+match.MatchLabels.GetLabels()[k])
		}
		text += " with labels " + Printable(strings.Join(labels, ", "))
	default:
		text = "every " + text
	}
	if s.GetNamespace() != "" {
		text += fmt.Sprintf(" in namespace %q", s.GetNamespace())
	}
	return text
}

// A state is the desired state and the context as Go values. Numbers that JSON
// cannot express, which functions can send, are strings.
type state struct {
	desired map[string]resource // by name; the XR's name is ""
	context map[string]any
}

// A resource is a desired resource as Go values. details are its connection details,
// of which a trace shows only the sizes.
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
		// Leave out a resource without a name: a trace would show it as the XR, whose
		// name is "", too.
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
		c := Change{Path: fieldpath.Join("", key), Op: Changed}
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
