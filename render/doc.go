// Package render is the pipeline engine: a composite resource, a Composition
// and something that runs functions go in, and what Crossplane would make of
// them comes out. It is pure: it reads no file, clock or environment, and the
// same input gives the same output.
package render
