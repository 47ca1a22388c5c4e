// Package reconciler is what the reconciler of today's Crossplane (v2.3 and
// later) does around a pipeline: how it prepares the composite resource before,
// and what it makes of the desired state after. The golden cases v2.4.* pin it.
package reconciler
