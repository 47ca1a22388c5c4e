package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// AnnotationRuntime is the annotation of a Function that selects its Runtime.
const AnnotationRuntime = "render.crossplane.io/runtime"

// A Runtime is how a function is started.
type Runtime string

const (
	// Auto selects a runtime for each function: Builtin if a builtin replaces the
	// package, Process for a folder with source, otherwise Sandbox, or Docker if
	// sandboxes are not available.
	Auto Runtime = ""
	// Builtin runs a function that is compiled into this binary.
	Builtin Runtime = "Builtin"
	// Sandbox runs a container that this process creates, on Linux.
	Sandbox Runtime = "Sandbox"
	// Docker runs a container in a Docker engine.
	Docker Runtime = "Docker"
	// Process runs the function as a child process: a program built from source, or the
	// program of the function's image, which is isolated as far as possible without a
	// sandbox.
	Process Runtime = "Process"
	// Development calls a function that the user has started.
	Development Runtime = "Development"
)

// Runtimes returns all runtimes except Auto.
func Runtimes() []Runtime { return []Runtime{Builtin, Sandbox, Docker, Process, Development} }

// ParseRuntime returns the Runtime with this name, ignoring case. It returns Auto for "".
func ParseRuntime(name string) (Runtime, error) {
	if name == "" || strings.EqualFold(name, "auto") {
		return Auto, nil
	}
	var names []string
	for _, r := range Runtimes() {
		if strings.EqualFold(name, string(r)) {
			return r, nil
		}
		names = append(names, string(r))
	}
	next := cmp.Or(hint.Meant("", hint.Nearest(name, names)), "use Builtin, Sandbox, Docker, Process or Development")
	return "", hint.Wrap(fmt.Errorf("unknown runtime %q", name), next)
}

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
