// Package composition reads Compositions, checks their pipelines, and selects
// the Composition for a composite resource. It finds the composed resources for
// which Crossplane needs a ClusterRole.
package composition
