package report

import (
	"slices"
	"time"
)

// A Trace records what each step of one XR's pipeline did. Except for durations,
// the same render gives the same JSON.
type Trace struct {
	// XR names the composite resource.
	XR    string `json:"xr"`
	Steps []Step `json:"steps"`
	// Error is the error of the render, which need not be one of a call.
	Error string `json:"error,omitempty"`
}

// Complete adds the runtime of each function, and the error of the render.
func (t Trace) Complete(runtimeOf func(function string) string, err error) Trace {
	for i, s := range t.Steps {
		t.Steps[i].Runtime = runtimeOf(s.Function)
	}
	if err != nil {
		t.Error = err.Error()
	}
	return t
}

// Failed reports whether the render failed.
func (t Trace) Failed() bool {
	return t.Error != "" || slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Fatal || s.Error != "" })
}

// A Step records what one pipeline step did.
type Step struct {
	// Name is the name of the step, and Function the name of its function.
	Name     string `json:"name"`
	Function string `json:"function"`
	// Runtime describes how the function ran. The caller sets it.
	Runtime string `json:"runtime,omitempty"`
	// Calls is the number of calls, and Took the duration of all.
	Calls int           `json:"calls"`
	Took  time.Duration `json:"tookNanoseconds"`
	// Changes are the changes to the desired state: the XR first, then the
	// composed resources in natural order of their names.
	Changes []ResourceChange `json:"changes,omitempty"`
	// ContextChanges are the changes to the pipeline's context.
	ContextChanges []Change    `json:"contextChanges,omitempty"`
	Results        []Result    `json:"results,omitempty"`
	Conditions     []Condition `json:"conditions,omitempty"`
	// Requirements describe what the function required in its last call.
	Requirements []string `json:"requirements,omitempty"`
	// Error is the error of a call, or empty. A step with an Error or a
	// fatal result changed nothing.
	Error string `json:"error,omitempty"`
	Fatal bool   `json:"fatal,omitempty"`
}

// A ResourceChange records what a step did to one desired resource.
type ResourceChange struct {
	// Name is the composition resource name, or empty for the XR.
	Name       string `json:"name,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Op         Op     `json:"op"`
	// Fields are the changed fields.
	Fields []Change `json:"fields,omitempty"`
	// Ready is the change of the readiness: "True" or "False".
	Ready *Change `json:"ready,omitempty"`
	// ConnectionDetails are the changed keys, with sizes for values.
	ConnectionDetails []Change `json:"connectionDetails,omitempty"`
}

// Title returns the resource's name in texts: "composite" for the XR.
func (c ResourceChange) Title() string { return title(c.Name) }

func title(resource string) string {
	if resource == "" {
		return "composite"
	}
	return resource
}
