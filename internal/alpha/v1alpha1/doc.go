// Package v1alpha1 has the FunctionIO that alpha functions read and write:
// fn.apiextensions.crossplane.io/v1alpha1.
//
// Types have the names of Crossplane's, since decoding errors contain them.
package v1alpha1
