// Package fieldpath finds and sets values in objects by Crossplane's field
// paths, such as spec.forProvider.tags[0], with the same error texts. The
// package in crossplane-runtime parses a path at each use, and is half of this
// program's size.
package fieldpath
