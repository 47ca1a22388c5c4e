// Package terminal prints the output of commands: results to stdout; progress, notes,
// warnings and errors to stderr.
package terminal
