// Package autoready is the builtin function-auto-ready. It has the rules of the
// real function with alpha features disabled.
package autoready
