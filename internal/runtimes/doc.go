// Package runtimes defines the interface of runtimes, which start functions outside of
// this process. A function inside of this process is a function.Runner without a runtime.
package runtimes
