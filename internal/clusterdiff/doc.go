// Package clusterdiff computes how Compositions would change the composite resources
// in a dump of a cluster, and their composed resources.
package clusterdiff
