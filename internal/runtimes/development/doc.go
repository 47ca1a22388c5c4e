// Package development is the runtime for a function that its author has
// already started, in a debugger for example: it only connects.
package development
