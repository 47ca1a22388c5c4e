// Package function is the command group `xfn function`: the functions that live
// in the binary, and calls of any function.
package function
