// Package builtin is the catalogue of functions that live in this binary, and
// the rule by which one of them stands in for a package.
package builtin
