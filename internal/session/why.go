package session

import (
	"fmt"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// noteChoices notes for each step why it runs as a builtin or not. It notes each text once.
func (s *Session) noteChoices(p plan, choices []choice) {
	chosen := map[string]choice{}
	for _, c := range choices {
		chosen[c.fn.Name] = c
	}
	for _, step := range p.entry.Spec.Pipeline {
		name := step.FunctionRef.Name
		text := fmt.Sprintf("step %q: %s is not called, because its response is replaced", step.Step, name)
		if c, ok := chosen[name]; ok && p.in.Steps[step.Step] == nil {
			text = fmt.Sprintf("step %q: %s %s, because %s", step.Step, name, c.how(), s.why(c))
		}
		s.once.Note(text)
	}
}

func (c choice) how() string {
	switch {
	case c.runtime == Builtin:
		return "runs as builtin " + c.builtin.Name
	case c.builtin.Name != "":
		return fmt.Sprintf("runs by %s and as builtin %s", c.runtime, c.builtin.Name)
	default:
		return fmt.Sprintf("runs by %s, not as a builtin", c.runtime)
	}
}

// why returns the reason for the choice of a runtime, as a clause.
func (s *Session) why(c choice) string {
	annotated, _ := ParseRuntime(c.fn.Annotations[AnnotationRuntime])
	switch {
	case s.config.Runtime != Auto:
		return fmt.Sprintf("runtime %s is selected for all functions", s.config.Runtime)
	case !c.given && annotated != Auto:
		return fmt.Sprintf("the annotation %s selects runtime %s", AnnotationRuntime, annotated)
	case c.templates != "":
		return fmt.Sprintf("package %q is a folder of templates", oci.Redact(c.templates))
	case c.isFile:
		what := "a file"
		if runtimes.IsSource(c.fn.Package) {
			what = "a folder of source"
		}
		return fmt.Sprintf("package %q is %s", oci.Redact(c.fn.Package), what)
	default:
		return s.config.Builtins.Explain(c.fn.Package)
	}
}
