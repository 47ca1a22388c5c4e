// Package intercept provides Runners that wrap another function.Runner. They
// cache responses, record and replay calls, repeat each call to find functions
// whose responses vary, or compare two implementations of a function.
package intercept
