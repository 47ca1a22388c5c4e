// Package process is the runtime that runs a function as a child process of
// this one: the function's own binary, taken out of its package or compiled
// from its source. It isolates nothing; what the function gets by default is
// an environment without the user's secrets, and a directory of its own.
package process
