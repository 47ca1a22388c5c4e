// Package autoready is the builtin function-auto-ready: it calls composed
// resources ready that no step before it has spoken of. Its rules are those of
// the real function with its alpha features off, pinned by golden cases.
package autoready
