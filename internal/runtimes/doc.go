// Package runtimes defines the interface of runtimes, which start functions outside of
// this process. A function inside of this process is a function.Runner without a runtime.
// Development is the runtime for functions that already run, for example in a debugger.
//
// The package also contains what the runtimes in its folders share that start functions on
// this machine: options, annotations, a private directory with a socket for the function, and
// errors that say how a function ended.
package runtimes
