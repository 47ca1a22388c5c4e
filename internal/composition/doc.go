// Package composition reads Compositions, checks their pipelines, and selects
// the Composition for a composite resource. It finds the composed resources for
// which Crossplane needs a ClusterRole, and has the feature switches of Crossplane
// with the versions that have them.
package composition
