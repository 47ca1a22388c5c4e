// Package v1alpha1 is the FunctionIO that functions of the alpha read and write:
// fn.apiextensions.crossplane.io/v1alpha1.
//
// Names of types are those of the real ones, since the errors about a FunctionIO
// that does not fit have them.
package v1alpha1
