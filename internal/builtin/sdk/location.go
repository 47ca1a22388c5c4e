package sdk

import "context"

// A Location is the place to which a fatal result refers. Exactly one of Field and File is
// set, or none if the place is unknown.
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

// A Locator is a function that finds the places to which its fatal results refer.
type Locator interface {
	// Locate returns the place to which a fatal result for an input, in JSON, refers.
	Locate(ctx context.Context, fatal string, input []byte) Location
}
