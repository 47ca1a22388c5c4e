// Package celfilter is the builtin function-cel-filter. It removes desired composed resources
// whose names match a pattern, depending on CEL expressions over the request.
package celfilter
