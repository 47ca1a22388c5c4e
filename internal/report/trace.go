package report

import (
	"slices"
	"time"
)

// A Trace is what each step of one XR's pipeline did. Its JSON form is stable:
// but for the times, the same render gives the same bytes.
type Trace struct {
	// XR names the composite resource.
	XR    string `json:"xr"`
	Steps []Step `json:"steps"`
	// Error says why the render failed, if it did. The caller fills it in: not
	// every failure is one of a call.
	Error string `json:"error,omitempty"`
}

// Complete returns the trace with the runtime of each function, and with the
// error of the render if that is not nil.
func (t Trace) Complete(runtimeOf func(function string) string, err error) Trace {
	for i, s := range t.Steps {
		t.Steps[i].Runtime = runtimeOf(s.Function)
	}
	if err != nil {
		t.Error = err.Error()
	}
	return t
}

// Failed reports whether the render did not come to its end.
func (t Trace) Failed() bool {
	return t.Error != "" || slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Fatal || s.Error != "" })
}

// A Step is what one pipeline step did.
type Step struct {
	// Name is the step's, Function the name of the Function it calls.
	Name     string `json:"name"`
	Function string `json:"function"`
	// Runtime says how the function ran. The caller fills it in.
	Runtime string `json:"runtime,omitempty"`
	// Calls is how often the function was called until it had what it required,
	// and Took is how long all calls took together.
	Calls int           `json:"calls"`
	Took  time.Duration `json:"tookNanoseconds"`
	// Changes are what the step did to the desired state, the XR first, then
	// the composed resources in natural order of their names.
	Changes []ResourceChange `json:"changes,omitempty"`
	// ContextChanges are what it did to the pipeline's context.
	ContextChanges []Change    `json:"contextChanges,omitempty"`
	Results        []Result    `json:"results,omitempty"`
	Conditions     []Condition `json:"conditions,omitempty"`
	// Requirements are what the function required in the end, in words.
	Requirements []string `json:"requirements,omitempty"`
	// Error is why a call failed, if one did. Fatal says that the function
	// returned a fatal result. Such a step changed nothing.
	Error string `json:"error,omitempty"`
	Fatal bool   `json:"fatal,omitempty"`
}

// A ResourceChange is what a step did to one desired resource.
type ResourceChange struct {
	// Name is the composition resource name. That of the XR itself is empty.
	Name       string `json:"name,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Op         Op     `json:"op"`
	// Fields are what Diff says of the resource.
	Fields []Change `json:"fields,omitempty"`
	// Ready is the readiness that the function stated, "True" or "False", if
	// that changed.
	Ready *Change `json:"ready,omitempty"`
	// ConnectionDetails are by key, and in place of the secret values they have
	// their sizes, like "12 bytes".
	ConnectionDetails []Change `json:"connectionDetails,omitempty"`
}

// Title is the resource's name as texts have it: "composite" for the XR.
func (c ResourceChange) Title() string { return title(c.Name) }

func title(resource string) string {
	if resource == "" {
		return "composite"
	}
	return resource
}

// Count returns how many resources the step added, changed and removed.
func (s Step) Count() (added, changed, removed int) {
	for _, c := range s.Changes {
		switch c.Op {
		case Added:
			added++
		case Changed:
			changed++
		case Removed:
			removed++
		}
	}
	return added, changed, removed
}
