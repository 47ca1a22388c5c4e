// Package spec is patches as they are written: their types, which read like the
// reference table of their fields, and what makes one invalid.
//
// The defaults that are stated are what function-patch-and-transform does; those
// of the schema that it publishes are not applied by anybody.
package spec
