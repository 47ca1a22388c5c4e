// Package crosscheck calls two fillings of one function, and takes no answer on
// which they differ: so that a builtin, say, can be held to the real function by
// everything that is rendered.
package crosscheck
