// Package legacy converts Compositions without a pipeline to pipelines: those
// of mode Resources, and those that call alpha functions.
//
// A legacy Composition has the meaning that Crossplane v1.20 gives it, the last
// version with mode Resources: with the defaults of its schema, and without the
// fields that its API server drops.
package legacy
