package validate

import (
	"cmp"
	"errors"
	"strings"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A Status is the outcome of the validation of an object.
type Status string

// The statuses of objects.
const (
	Valid   Status = "valid"
	Invalid Status = "invalid"
	// NoSchema is that of an object whose kind nothing defines, or nothing that
	// can be used.
	NoSchema Status = "no schema"
)

// A Result is what is to say about an object, or about a document that holds none.
type Result struct {
	// Path and Line are where it stands; Line is 0 if unknown.
	Path string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// APIVersion and Kind may be empty if it has none. Name is the one it has,
	// or that it begins with, or that of a composed resource in the pipeline.
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Namespace  string  `json:"namespace,omitempty"`
	Name       string  `json:"name"`
	Status     Status  `json:"status"`
	Faults     []Fault `json:"faults,omitempty"`

	// broken is the definition that could not be used.
	broken *definition
}

// A Fault is one thing that is wrong.
type Fault struct {
	// Field is as in "spec.sizes[0].unit", or empty for the whole object. Line is
	// that of its file, or 0.
	Field string `json:"field,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Text names the field and what is wrong, in the API server's words.
	Text string `json:"text"`
	// Nearest is the field that may be meant by an unknown one, or empty.
	Nearest string `json:"nearest,omitempty"`
	// Warning says that it does not make the object invalid.
	Warning bool `json:"warning,omitempty"`

	// last says that it is about the others.
	last bool
}

// String returns the text on one line, with what may be meant.
func (f Fault) String() string {
	text := strings.Join(strings.Fields(f.Text), " ")
	if f.Nearest != "" {
		text += ", did you mean " + f.Nearest + "?"
	}
	return text
}

// byLine orders faults as they stand in a file.
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

// Counts count results.
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

// Unreadable is the result for a document that holds no object.
func Unreadable(doc manifest.Document, err error) Result {
	r := Result{Path: doc.Path, Line: doc.Line, Status: Invalid}
	text := err.Error()
	var at *manifest.Error
	if errors.As(err, &at) {
		r.Path, r.Line, text = at.Path, at.Line, at.Err.Error()
	}
	r.Faults = []Fault{{Line: r.Line, Text: text}}
	return r
}

// faults are those of the object at a field of a document.
func faults(at place, all []schema.Fault) []Fault {
	out := make([]Fault, len(all))
	for i, f := range all {
		out[i] = Fault{Field: f.Field, Line: at.line(f.Field), Text: f.String(), Nearest: f.Nearest, last: f.Unchecked}
	}
	return out
}
