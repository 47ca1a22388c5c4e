package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// An Origin is the step that set the value of a field.
type Origin struct {
	// Resource is the composition resource name, or empty for the XR.
	Resource string `json:"resource,omitempty"`
	// Path is the field, as in Change.
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
				} else if r.Name != "" || inStatus(c.Path) {
					last[at] = Origin{Resource: r.Name, Path: c.Path, Step: s.Name, Value: c.New}
				}
			}
		}
	}
	all := make([]Origin, 0, len(last))
	for _, o := range last {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b Origin) int {
		return cmp.Or(fieldpath.Natural(a.Resource, b.Resource), fieldpath.Natural(a.Path, b.Path))
	})
	return all
}

func inStatus(path string) bool {
	rest, ok := strings.CutPrefix(path, "status")
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// WriteBlame writes a line for each origin: resource, field and step, in
// columns that fit into 80 characters unless names are too long.
func WriteBlame(w io.Writer, origins []Origin) error {
	resources, paths, steps := 0, 0, 0
	rows := make([][3]string, len(origins))
	for i, o := range origins {
		row := [3]string{Printable(title(o.Resource)), Printable(o.Path), Printable(o.Step)}
		resources = max(resources, utf8.RuneCountInString(row[0]))
		paths = max(paths, utf8.RuneCountInString(row[1]))
		steps = max(steps, utf8.RuneCountInString(row[2]))
		rows[i] = row
	}
	paths = min(paths, max(columns-resources-steps-4, 0))
	b := bufio.NewWriter(w)
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s  %-*s  %s\n", resources, row[0], paths, row[1], row[2])
	}
	return b.Flush()
}
