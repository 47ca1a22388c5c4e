// Package validate validates objects as an API server does that has all of some
// definitions: custom resources by their definitions, the kinds of
// Kubernetes and Crossplane by their Go types.
package validate
