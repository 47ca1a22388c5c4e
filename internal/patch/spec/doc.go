// Package spec has the types of patches, transforms and the input of
// function-patch-and-transform, and validates them with the API server's errors.
// Defaults in comments are those of the function, not of its published schema.
package spec
