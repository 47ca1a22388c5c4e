// Package input is the input of function-patch-and-transform: its types, which
// read like the reference table of its fields, and what makes one invalid.
//
// The defaults that are stated are what the function does; those of the schema
// that it publishes are not applied by anybody.
package input
