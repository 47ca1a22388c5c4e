package validate

import (
	"cmp"
	"errors"
	"strings"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A Status is the outcome of a validation.
type Status string

// The statuses of objects.
const (
	Valid   Status = "valid"
	Invalid Status = "invalid"
	// NoSchema means that the object's kind has no valid definition.
	NoSchema Status = "no schema"
)

// A Result is the result for an object, or for a document without one.
type Result struct {
	// Path and Line are the position; Line is 0 if unknown.
	Path string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// APIVersion and Kind may be empty. Name is the name, the generateName,
	// or the name of a composed resource in the pipeline.
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Namespace  string  `json:"namespace,omitempty"`
	Name       string  `json:"name"`
	Status     Status  `json:"status"`
	Faults     []Fault `json:"faults,omitempty"`

	// broken is the invalid definition.
	broken *definition
}

// A Fault is an error or a warning.
type Fault struct {
	// Field is a path, such as "spec.sizes[0].unit", or empty for the whole
	// object. Line is its line in the file, or 0.
	Field string `json:"field,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Text has the field and the message of the API server.
	Text string `json:"text"`
	// Nearest is a field similar to an unknown one, or empty.
	Nearest string `json:"nearest,omitempty"`
	// Warning is true if the object is still valid.
	Warning bool `json:"warning,omitempty"`

	// last is true for a fault about the others.
	last bool
}

// String returns the text on one line, with the similar field.
func (f Fault) String() string {
	text := strings.Join(strings.Fields(f.Text), " ")
	if f.Nearest != "" {
		text += ", did you mean " + f.Nearest + "?"
	}
	return text
}

// byLine sorts faults by their lines.
func byLine(a, b Fault) int {
	switch {
	case a.last == b.last:
		return cmp.Compare(a.Line, b.Line)
	case a.last:
		return 1
	default:
		return -1
	}
}

// Counts are the numbers of results by status.
type Counts struct {
	Total    int `json:"total"`
	Valid    int `json:"valid"`
	Invalid  int `json:"invalid"`
	NoSchema int `json:"noSchema"`
}

// Add counts a result.
func (c *Counts) Add(r Result) {
	c.Total++
	switch r.Status {
	case Valid:
		c.Valid++
	case Invalid:
		c.Invalid++
	case NoSchema:
		c.NoSchema++
	}
}

// unreadable returns the result of a document without an object.
func unreadable(doc manifest.Document, err error) Result {
	r := Result{Path: doc.Path, Line: doc.Line, Status: Invalid}
	text := err.Error()
	var at *manifest.Error
	if errors.As(err, &at) {
		r.Path, r.Line, text = at.Path, at.Line, at.Err.Error()
	}
	r.Faults = []Fault{{Line: r.Line, Text: text}}
	return r
}

// faults converts the faults of the object at a field of a document.
func faults(at place, all []schema.Fault) []Fault {
	out := make([]Fault, len(all))
	for i, f := range all {
		out[i] = Fault{Field: f.Field, Line: at.line(f.Field), Text: f.String(), Nearest: f.Nearest, last: f.Unchecked}
	}
	return out
}
