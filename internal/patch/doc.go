// Package patch applies patches and transforms as function-patch-and-transform
// does, oddities included. The builtin function, Compositions of mode Resources
// and alpha Compositions share it.
//
// Values are those of JSON in Go: nil, bool, int64, float64, string, []any and
// map[string]any.
package patch
