package coverage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// A Report is the coverage of all Compositions that cases test.
type Report struct {
	Compositions []Composition `json:"compositions"`
}

// A Composition is the coverage of one Composition.
type Composition struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Line is the line of the Composition's document in the file, counted from 1.
	Line  int `json:"line"`
	Cases int `json:"cases"`
	// Parts are the parts of the Composition that a case can run, in the order of the file.
	Parts []Part `json:"parts"`
	// XRFields are the fields in the schema of the composite resource. UnsetXRFields are the
	// fields among them that no case sets to a value other than the default.
	XRFields      int      `json:"xrFields"`
	UnsetXRFields []string `json:"unsetXRFields,omitempty"`
	// ComposedFields are the fields of composed resources. UncheckedFields are the fields
	// among them that no expectation checks.
	ComposedFields  int     `json:"composedFields"`
	UncheckedFields []Field `json:"uncheckedFields,omitempty"`

	// text is the file with the Composition.
	text []byte
}

// StepPart is the kind of a Part that is a pipeline step. Other Parts have the kinds of sdk.Point.
const StepPart sdk.PointKind = "step"

// A Part is a part of a Composition that a case can run.
type Part struct {
	Kind sdk.PointKind `json:"kind"`
	// File is the path of a template file, or empty for the file of the Composition. Line is
	// the line in it. Field is the path of the field in the Composition, or empty.
	File  string `json:"file,omitempty"`
	Line  int    `json:"line"`
	Field string `json:"field,omitempty"`
	// Branch distinguishes parts with the same position, such as "else".
	Branch string `json:"branch,omitempty"`
	Ran    bool   `json:"ran"`
	// SourceMissing is true for a patch that cases reached, but whose source never had a value.
	SourceMissing bool `json:"sourceMissing,omitempty"`
}

// fileOf returns the path of the file with a part: a file of templates, or the Composition's own.
func (c Composition) fileOf(p Part) string { return cmp.Or(p.File, c.Path) }

// Describe returns the part for messages, without its line.
func (p Part) Describe() string {
	text := string(p.Kind)
	if p.Field != "" {
		text += " " + p.Field
	}
	if p.Branch != "" {
		text += " (" + p.Branch + ")"
	}
	if p.SourceMissing {
		text += ": its source had no value in any case"
	}
	return text
}

// Percent returns the share of the parts of all Compositions that ran. It is false without
// parts.
func (r Report) Percent() (float64, bool) {
	ran, all := r.count()
	return 100 * float64(ran) / float64(max(all, 1)), all > 0
}

func (r Report) count() (ran, all int) {
	for _, c := range r.Compositions {
		n, of := count(c.Parts)
		ran, all = ran+n, all+of
	}
	return ran, all
}

func count(parts []Part) (ran, all int) {
	for _, p := range parts {
		if p.Ran {
			ran++
		}
	}
	return ran, len(parts)
}

func (c *collected) report() Composition {
	doc := c.entry.Document
	r := Composition{
		Name: c.entry.GetName(), Path: doc.Path, Line: doc.Line, Cases: c.cases, text: doc.Text,
		XRFields: len(c.xr), ComposedFields: len(c.composed),
	}
	lines := doc.Lines()
	for i, pipelineStep := range c.entry.Spec.Pipeline {
		at := fmt.Sprintf("spec.pipeline[%d]", i)
		field := c.entry.DocumentField(at)
		of, ran := c.steps[pipelineStep.Step]
		r.Parts = append(r.Parts, Part{Kind: StepPart, Field: field, Branch: pipelineStep.Step, Line: lines.Of(field), Ran: ran})
		if !ran {
			continue
		}
		seen := map[sdk.Point]bool{}
		for _, p := range slices.Concat(of.known...) {
			if seen[p] {
				continue
			}
			seen[p] = true
			part := Part{Kind: p.Kind, Branch: p.Branch, Ran: of.ran[p], File: p.File, Line: p.Line}
			if p.File == "" {
				part.Field = c.entry.DocumentField(at + ".input." + p.Path)
				part.Line = lines.OfText(part.Field, p.Line)
			}
			if p.Kind == sdk.PatchPoint && !part.Ran {
				p.Branch = sdk.SourceMissing
				part.SourceMissing = of.ran[p]
			}
			r.Parts = append(r.Parts, part)
		}
	}
	slices.SortStableFunc(r.Parts, func(a, b Part) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	for _, path := range slices.Sorted(maps.Keys(c.xr)) {
		if !c.xr[path] {
			r.UnsetXRFields = append(r.UnsetXRFields, path)
		}
	}
	for _, f := range slices.SortedFunc(maps.Keys(c.composed), func(a, b Field) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Path, b.Path))
	}) {
		if !c.composed[f] {
			r.UncheckedFields = append(r.UncheckedFields, f)
		}
	}
	return r
}
