// Package development is the runtime for functions that are already running,
// for example in a debugger. It only connects to them.
package development
