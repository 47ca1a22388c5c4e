// Package builtin has the composition functions that are part of this binary, and
// decides which function packages they replace. Larger functions have packages of their own.
//
// Error texts contain the Go names of the types of inputs. These are the names that the real
// functions give them, after the name of the function if the real name is Input.
package builtin
