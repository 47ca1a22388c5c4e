// Package patch applies patches and transforms with the same results as
// function-patch-and-transform, including its bugs. Values have the types of
// decoded JSON: nil, bool, int64, float64, string, []any and map[string]any.
package patch
