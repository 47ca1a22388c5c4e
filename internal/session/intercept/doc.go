// Package intercept wraps a function.Runner: it caches responses, records and
// replays calls, repeats each call to find functions whose answers vary, and
// compares two implementations of one function.
package intercept
