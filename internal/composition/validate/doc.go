// Package validate judges objects as an API server would on which all of some
// definitions are installed: custom resources by their definitions, the kinds of
// Kubernetes and Crossplane by their Go types.
package validate
