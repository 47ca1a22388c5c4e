// Package validate validates objects like an API server: custom resources and the kinds of
// Crossplane by their CRDs, the kinds of Kubernetes by their Go types.
package validate
