package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
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
