// Package render runs the pipeline of a Composition for a composite resource, and
// returns the composite resource, composed resources and results that Crossplane
// would produce. Functions are called by a function.Runner.
//
// The package reads no file, clock or environment variable: the same request and
// the same responses of functions give the same result.
package render
