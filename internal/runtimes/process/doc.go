// Package process is the runtime that runs a function as a child process of this
// one. One that is compiled from source is the user's own: it is not confined;
// what it gets by default is an environment without the user's secrets, and a
// directory of its own. Packages are left to another runtime.
package process
