// Package sandboxtest has what tests need to try out where sandboxes are
// forbidden.
package sandboxtest
