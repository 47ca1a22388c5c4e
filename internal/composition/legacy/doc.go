// Package legacy makes pipelines of Compositions from before there were any:
// those of mode Resources, and those that call the functions of the alpha.
//
// What a legacy Composition means is what Crossplane v1.20, the last one that
// has mode Resources, makes of it: with the defaults of its schema, without the
// fields that its API server drops.
package legacy
