// Package reconciler computes one reconcile of a composite resource. It prepares the
// observed state, calls the steps of the pipeline, and assembles the composite resource,
// the composed resources, the conditions and the readiness. It has no side effects.
//
// The profile v2 follows the current reconciler of Crossplane. The profile classic follows
// the code that `crossplane render` ran around the pipeline up to v2.2.
package reconciler
