// Package sandboxtest has what tests of programs need that make sandboxes, and
// what tries out where those are forbidden.
package sandboxtest
