// Package composition reads Compositions, checks their pipelines, and selects
// the Composition for a composite resource.
package composition
