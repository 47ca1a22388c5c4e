// Package spec has the types of patches, transforms and the input of
// function-patch-and-transform, and validates them with the messages of the
// Kubernetes API server. The defaults in the comments are those of the function:
// nothing applies the defaults of the schema that it publishes.
package spec
