// Package expression evaluates CEL expressions over plain values, with the
// functions that Kubernetes has in CRDs, and within limits: one that would run
// for ever is an error.
package expression
