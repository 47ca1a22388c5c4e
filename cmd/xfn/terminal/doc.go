// Package terminal is where commands meet people: results on stdout; progress,
// notes, warnings and errors on stderr.
package terminal
