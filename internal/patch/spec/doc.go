// Package spec defines the types of patches, transforms and the input of
// function-patch-and-transform. It validates them with the API server's errors. Defaults in
// comments are those of the function, not those of its published schema.
package spec
