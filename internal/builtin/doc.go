// Package builtin is the catalog of functions in this binary, and the rule for
// the packages that they replace.
package builtin
