// Package transform changes values on their way from one field to another, as
// the transforms of function-patch-and-transform do: oddities included, and
// the Go types of values, which show in what it formats.
//
// Values are those of JSON as Go has them: nil, bool, int64, float64, string,
// []any and map[string]any.
package transform
