// Package progress reports the progress of a long operation to the caller of
// the operation, as events that the caller's function receives.
package progress
