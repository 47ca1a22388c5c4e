// Package autoready is the builtin function-auto-ready. It marks composed
// resources as ready if no earlier step has set their readiness. Its rules are
// those of the real function without alpha features; golden cases check them.
package autoready
