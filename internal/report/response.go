package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
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

// respond sets the fields from a response other than its state.
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
