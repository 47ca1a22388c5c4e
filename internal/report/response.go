package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A Result is what a function reported.
type Result struct {
	// Severity is Fatal, Warning, Normal or Unspecified.
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Reason   string `json:"reason,omitempty"`
	// Target is Composite or CompositeAndClaim, or empty if it was not said.
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

// ResultsOf returns what a function reported.
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

// respond sets what a function returned besides a state.
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

// requirements puts what a function requires in words, in natural order.
func requirements(r *fnv1.Requirements) []string {
	var all []string
	all = append(all, selected("resource", r.GetResources())...)
	all = append(all, selected("extra resource", extraResources(r))...)
	for _, name := range slices.SortedFunc(maps.Keys(r.GetSchemas()), fieldpath.Natural) {
		s := r.GetSchemas()[name]
		all = append(all, fmt.Sprintf("schema %q: %s %s", name, s.GetApiVersion(), s.GetKind()))
	}
	return all
}

// extraResources goes by the field's name, since Go's linters take issue with
// a getter that is deprecated. Functions of today still use the field.
func extraResources(r *fnv1.Requirements) map[string]*fnv1.ResourceSelector {
	all := map[string]*fnv1.ResourceSelector{}
	m := r.ProtoReflect()
	m.Get(m.Descriptor().Fields().ByName("extra_resources")).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		s, ok := v.Message().Interface().(*fnv1.ResourceSelector)
		if ok {
			all[k.String()] = s
		}
		return true
	})
	return all
}

func selected(what string, selectors map[string]*fnv1.ResourceSelector) []string {
	all := make([]string, 0, len(selectors))
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
		text += " with labels " + labels(match.MatchLabels.GetLabels())
	default:
		text = "every " + text
	}
	if s.GetNamespace() != "" {
		text += fmt.Sprintf(" in namespace %q", s.GetNamespace())
	}
	return text
}

func labels(m map[string]string) string {
	all := make([]string, 0, len(m))
	for _, k := range slices.SortedFunc(maps.Keys(m), fieldpath.Natural) {
		all = append(all, k+"="+m[k])
	}
	return Printable(strings.Join(all, ", "))
}
