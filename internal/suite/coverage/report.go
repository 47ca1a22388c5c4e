package coverage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin"
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
	// XRFields and UnsetXRFields are the fields in the schema of the composite resource, and
	// those that no case sets to something else than their default.
	XRFields      int      `json:"xrFields"`
	UnsetXRFields []string `json:"unsetXRFields,omitempty"`
	// ComposedFields and UncheckedFields are the fields of composed resources, and those that
	// no expectation checks.
	ComposedFields  int     `json:"composedFields"`
	UncheckedFields []Field `json:"uncheckedFields,omitempty"`

	// text is the file with the Composition.
	text []byte
}

// StepPart is the kind of a Part that is a pipeline step. The others are those of sdk.Point.
const StepPart sdk.PointKind = "step"

// A Part is a part of a Composition that a case can run.
type Part struct {
	Kind sdk.PointKind `json:"kind"`
	// Line is the line in the file. Field is the path of the field in the Composition.
	Line  int    `json:"line"`
	Field string `json:"field"`
	// Branch distinguishes parts with the same position, such as "else".
	Branch string `json:"branch,omitempty"`
	Ran    bool   `json:"ran"`
	// SourceMissing is true for a patch that cases reached, but whose source never had a value.
	SourceMissing bool `json:"sourceMissing,omitempty"`
}

// Describe returns the part for messages, without its line.
func (p Part) Describe() string {
	text := fmt.Sprintf("%s %s", p.Kind, p.Field)
	if p.Branch != "" {
		text += " (" + p.Branch + ")"
	}
	if p.SourceMissing {
		text += ": its source had no value in any case"
	}
	return text
}

// Percent returns the share of the parts of all Compositions that ran. It is 100 without
// parts.
func (r Report) Percent() float64 {
	ran, all := r.count()
	if all == 0 {
		return 100
	}
	return 100 * float64(ran) / float64(all)
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
	for i, step := range c.entry.Spec.Pipeline {
		at := fmt.Sprintf("spec.pipeline[%d]", i)
		ran, called := c.ran[step.Step]
		var points []sdk.Point
		var err error
		if c.builtins[step.Step] {
			points, err = pointsOf(step)
		}
		field := c.entry.DocumentField(at)
		r.Parts = append(r.Parts, Part{Kind: StepPart, Field: field, Branch: step.Step, Line: lines.Of(field), Ran: called && err == nil})
		for _, p := range points {
			field := c.entry.DocumentField(at + ".input." + p.Path)
			part := Part{Kind: p.Kind, Field: field, Branch: p.Branch, Line: lines.OfText(field, p.Line), Ran: ran[p]}
			if p.Kind == sdk.PatchPoint && !part.Ran {
				p.Branch = sdk.SourceMissing
				part.SourceMissing = ran[p]
			}
			r.Parts = append(r.Parts, part)
		}
	}
	slices.SortStableFunc(r.Parts, func(a, b Part) int { return cmp.Compare(a.Line, b.Line) })
	for _, path := range slices.Sorted(maps.Keys(c.xr)) {
		if !c.xr[path] {
			r.UnsetXRFields = append(r.UnsetXRFields, path)
		}
	}
	for _, f := range slices.SortedFunc(maps.Keys(c.composed), compareFields) {
		if !c.composed[f] {
			r.UncheckedFields = append(r.UncheckedFields, f)
		}
	}
	return r
}

func compareFields(a, b Field) int {
	return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Path, b.Path))
}

// pointsOf returns the points of the input of a step whose function is a builtin. A builtin
// cannot run an input for which pointsOf returns an error.
func pointsOf(step apiextv1.PipelineStep) ([]sdk.Point, error) {
	if step.Input == nil {
		return nil, nil
	}
	input := &structpb.Struct{}
	if err := protojson.Unmarshal(step.Input.Raw, input); err != nil {
		return nil, err
	}
	name := input.GetFields()["apiVersion"].GetStringValue() + " " + input.GetFields()["kind"].GetStringValue()
	for _, b := range builtin.All() {
		if b.Input == name && b.Points != nil {
			return b.Points(input)
		}
	}
	return nil, nil
}
