// Package statustransformer is the builtin function-status-transformer. It sets conditions and
// creates events of the composite resource if conditions of other resources match.
package statustransformer
