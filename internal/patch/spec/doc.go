// Package spec defines the types of patches, transforms and the input of
// function-patch-and-transform. It validates them with the API server's errors. Defaults in
// comments are the defaults of the function, which differ from the defaults in its
// published schema.
package spec
