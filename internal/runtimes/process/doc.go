// Package process is the runtime that runs a function as a child process.
//
// A function that is started from source code belongs to the user, and is not confined.
// By default it gets its own directory, and an environment without the user's secrets.
// The runtime in Process.Packages starts functions from packages.
package process
