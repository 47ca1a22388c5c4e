// Package validate validates objects like an API server: custom resources by
// their definitions, the kinds of Kubernetes and Crossplane by their Go types.
package validate
