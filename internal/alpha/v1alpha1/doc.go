// Package v1alpha1 has the FunctionIO that alpha functions read and write:
// fn.apiextensions.crossplane.io/v1alpha1.
//
// The Go types have the same names as in Crossplane, because decoding errors
// contain the names.
package v1alpha1
