// Package runtimes is the contract for starting functions outside of this process. A
// function inside of this process is a function.Runner without a runtime.
package runtimes
