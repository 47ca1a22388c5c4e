package sdk

import (
	"context"
	"fmt"
	"slices"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
)

// A Location is the place to which a result or a warning refers. If the place is known, either
// Field or File is set, otherwise neither.
type Location struct {
	// Field is the path of a field in the input.
	Field string
	// File is the path of a file that the input names.
	File string
	// Line is a line, counted from 1: of File, or of the text of Field if it has several
	// lines.
	Line int
	// Detail describes a place inside of the line or the text. It may be "".
	Detail string
}

// In returns the position of the place in e, in the input of the step with index n, or in a file,
// with the detail. It returns "" if the place is unknown.
func (at Location) In(e composition.Entry, n int) string {
	place := at.File
	switch {
	case at.File != "" && at.Line > 0:
		place = fmt.Sprintf("%s:%d", at.File, at.Line)
	case at.Field != "":
		field := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input.%s", n, at.Field))
		doc := e.Document
		doc.Line = doc.Lines().OfText(field, at.Line)
		place = doc.Position() + ": " + field
	}
	if place != "" && at.Detail != "" {
		place += ", " + at.Detail
	}
	return place
}

// Place is like In, for the Composition and the step in ctx.
func (at Location) Place(ctx context.Context) string {
	e := composition.EntryOf(ctx)
	if e.Composition == nil {
		return ""
	}
	n := slices.IndexFunc(e.Spec.Pipeline, func(s apiextv1.PipelineStep) bool { return s.Step == function.Step(ctx) })
	if n < 0 {
		return ""
	}
	return at.In(e, n)
}

// A Locator is a function that finds the places to which its fatal results refer.
type Locator interface {
	// Locate returns the place to which a fatal result for an input, in JSON, refers.
	Locate(ctx context.Context, fatal string, input []byte) Location
}
