// Package lint judges the Compositions of a package before it is built, and
// after.
package lint
