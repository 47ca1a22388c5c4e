// Package kinds knows the kinds that need no definition: those of Kubernetes and
// of Crossplane itself, by the Go types that their API servers decode them into.
// The types are registered when the first of them is asked for.
package kinds
