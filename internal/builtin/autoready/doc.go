// Package autoready is the builtin function-auto-ready, with the rules of the
// real function without alpha features.
package autoready
