// Package runtimes is the contract of whatever starts a function outside this
// process. A function inside this process is no runtime but a function.Runner.
package runtimes
