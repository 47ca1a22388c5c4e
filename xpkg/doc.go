// Package xpkg is the Crossplane package format, both ways: a directory is
// read and checked, becomes an image or an index of images, becomes an .xpkg
// file, and the file becomes the image again.
//
// A package is an OCI image with one layer that is annotated
// "io.crossplane.xpkg: base" and holds package.yaml: the package metadata and
// the objects that the package delivers, as a stream of YAML documents. A
// function's or provider's package is its own runtime image besides.
package xpkg
