// Package builtin lists the composition functions that are part of this binary,
// and decides which function packages they replace.
package builtin
