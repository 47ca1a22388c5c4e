// Package runtimes defines the interface of runtimes, which start functions outside of
// this process. A function inside of this process is a function.Runner without a runtime.
// Development is the runtime for functions that already run, for example in a debugger.
package runtimes
