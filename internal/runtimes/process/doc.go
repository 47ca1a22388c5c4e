// Package process is the runtime that runs a function as a child process.
//
// A function from source is the user's own and is not confined. By default it
// gets an environment without the user's secrets, and its own directory. The
// runtime in Process.Packages starts functions from packages.
package process
