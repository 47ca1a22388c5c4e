package spec

import (
	"errors"
	"fmt"
	"maps"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// A Converted is a case that was converted from the format of another tool.
type Converted struct {
	Name string
	// Fields is the content of the case, as in the file of a suite. Its strings have no
	// variables.
	Fields map[string]any
	// Line returns the line in the file of the other tool for a field in Fields. The path has
	// keys, and indexes in the form "[0]".
	Line func(path []string) int
	// Warnings are about fields that have no effect, each a *manifest.Error.
	Warnings []error
	// Err joins the reasons why the case cannot be converted, each a *manifest.Error.
	Err error
}

// FromConverted returns a suite with the cases of a file of another tool. A name that several
// cases have gets a number.
func FromConverted(path string, cases []Converted) *Suite {
	s := &Suite{Document: manifest.Document{Path: path, Line: 1}, converted: true}
	s.lines = s.Document.Lines
	count := map[string]int{}
	for i, c := range cases {
		name := c.Name
		if count[name]++; count[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, count[name])
		}
		fields, _ := literal(c.Fields).(map[string]any)
		s.Cases = append(s.Cases, &Case{Name: name, suite: s, index: i, raw: fields, err: c.Err, origin: c.Line})
	}
	return s
}

// IsConverted reports whether the suite was converted from the format of another tool.
func (s *Suite) IsConverted() bool { return s.converted }

// File returns the content of a file with the cases of a converted suite. It returns the errors
// of all cases that could not be converted.
func (s *Suite) File() (map[string]any, error) {
	var errs []error
	cases := make([]any, len(s.Cases))
	for i, c := range s.Cases {
		errs = append(errs, c.err)
		fields := maps.Clone(c.raw)
		fields["name"] = c.Name
		cases[i] = fields
	}
	return map[string]any{"apiVersion": APIVersion, "kind": Kind, "cases": cases}, errors.Join(errs...)
}
