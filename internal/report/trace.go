package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Trace records what each step of one XR's pipeline did. Except for durations,
// the same render gives the same JSON.
type Trace struct {
	XR    string `json:"xr"`
	Steps []Step `json:"steps"`
	// Error is the error of the render. Its cause may be outside of any function call.
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
	Name     string `json:"name"`
	Function string `json:"function"`
	// Runtime describes how the function ran. The caller sets it.
	Runtime string `json:"runtime,omitempty"`
	// Calls is the number of calls, and Took the duration of all of them.
	Calls int           `json:"calls"`
	Took  time.Duration `json:"tookNanoseconds"`
	// Changes are the changes to the desired state: the XR first, then the
	// composed resources in natural order of their names.
	Changes        []ResourceChange `json:"changes,omitempty"`
	ContextChanges []Change         `json:"contextChanges,omitempty"`
	Results        []Result         `json:"results,omitempty"`
	Conditions     []Condition      `json:"conditions,omitempty"`
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
	Name       string   `json:"name,omitempty"`
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Op         Op       `json:"op"`
	Fields     []Change `json:"fields,omitempty"`
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

// An Origin is the step that set the value of a field.
type Origin struct {
	// Resource is the composition resource name, or empty for the XR.
	Resource string `json:"resource,omitempty"`
	// Path is the path of the field, as in Change.
	Path string `json:"path"`
	// Step is the pipeline step that set the field last.
	Step  string `json:"step"`
	Value any    `json:"value"`
}

// Blame returns the step that set the final value of every field of the desired
// composed resources and of the XR's status, in natural order, with the XR
// first. A step that returned the value it received did not set it.
func (t Trace) Blame() []Origin {
	type field struct{ resource, path string }
	last := map[field]Origin{}
	for _, s := range t.Steps {
		for _, r := range s.Changes {
			for _, c := range r.Fields {
				at := field{r.Name, c.Path}
				if c.Op == Removed {
					delete(last, at)
				} else if r.Name != "" || fieldpath.HasPrefix(c.Path, "status") {
					last[at] = Origin{Resource: r.Name, Path: c.Path, Step: s.Name, Value: c.New}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b Origin) int {
		return cmp.Or(fieldpath.Natural(a.Resource, b.Resource), fieldpath.Natural(a.Path, b.Path))
	})
}

// WriteBlame writes a line for each origin: resource, field and step, in
// columns that fit into a width, or 0 for no limit, unless names are too long.
func WriteBlame(w io.Writer, origins []Origin, width int) error {
	resources, paths, steps := 0, 0, 0
	rows := make([][3]string, len(origins))
	for i, o := range origins {
		row := [3]string{Printable(title(o.Resource)), Printable(o.Path), Printable(o.Step)}
		resources = max(resources, utf8.RuneCountInString(row[0]))
		paths = max(paths, utf8.RuneCountInString(row[1]))
		steps = max(steps, utf8.RuneCountInString(row[2]))
		rows[i] = row
	}
	if width > 0 {
		paths = min(paths, max(width-resources-steps-4, 0))
	}
	b := bufio.NewWriter(w)
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s  %-*s  %s\n", resources, row[0], paths, row[1], row[2])
	}
	return b.Flush()
}
