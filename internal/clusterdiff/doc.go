// Package impact says what Compositions would do to the composite resources of a
// cluster, by a dump of it, and to what those have composed.
package clusterdiff
