// Package clusterdiff computes how changed Compositions would change the
// composed resources of the composite resources in a dump of a cluster.
package clusterdiff
